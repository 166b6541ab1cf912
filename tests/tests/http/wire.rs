//! A small HTTP client: one connection, which can be dropped at any moment.

use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    HeaderMap, Request,
    client::conn::http1::{SendRequest, handshake},
    header::HOST,
};
use hyper_util::rt::TokioIo;
use tokio::{
    net::TcpStream,
    task::{AbortHandle, JoinHandle},
};

/// A request's outcome: an answer, or a connection that broke.
pub(crate) type Outcome = Result<Answer, Box<dyn std::error::Error + Send + Sync>>;

/// A connection.
pub(crate) struct Visitor {
    sender: SendRequest<Full<Bytes>>,
    connection: JoinHandle<()>,
}

/// A whole response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    /// A header's value, or nothing.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("text"))
    }
}

impl Visitor {
    pub(crate) async fn connect(
        to: SocketAddr,
    ) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Self::over(TcpStream::connect(to).await?).await
    }

    async fn over(stream: TcpStream) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        let connection = tokio::spawn(async move { _ = connection.await });
        Ok(Self { sender, connection })
    }

    pub(crate) async fn to(to: SocketAddr) -> Self {
        Self::connect(to).await.expect("a connection")
    }

    /// A connection that is reset when it is dropped, rather than closed.
    pub(crate) async fn that_resets(to: SocketAddr) -> Self {
        let stream = TcpStream::connect(to).await.expect("a connection");
        stream.set_zero_linger().expect("a socket option");
        Self::over(stream).await.expect("a connection")
    }

    /// Sends a request, and waits for its whole response.
    pub(crate) async fn send(&mut self, request: Request<Full<Bytes>>) -> Outcome {
        self.sender.ready().await?;
        let (parts, body) = self.sender.send_request(request).await?.into_parts();
        let body = String::from_utf8(body.collect().await?.to_bytes().to_vec())?;
        Ok(Answer { status: parts.status.as_u16(), headers: parts.headers, body })
    }

    /// Drops the connection, whatever is under way on it.
    pub(crate) async fn leave(self) {
        self.connection.abort();
        _ = self.connection.await;
    }

    /// What drops the connection when it is aborted.
    pub(crate) fn connection(&self) -> AbortHandle {
        self.connection.abort_handle()
    }
}

/// A request with these headers.
pub(crate) fn request(
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(method).uri(path).header(HOST, "shop.test");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::from(Bytes::copy_from_slice(body.as_bytes()))).expect("a request")
}

/// A `POST` on a connection of its own.
pub(crate) async fn try_post(
    to: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Outcome {
    Visitor::connect(to).await?.send(request("POST", path, headers, body)).await
}

/// A `POST` on a connection of its own, which is answered.
pub(crate) async fn post(
    to: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    try_post(to, path, headers, body).await.unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A `GET` on a connection of its own, which is answered.
pub(crate) async fn get(to: SocketAddr, path: &str) -> Answer {
    let request = request("GET", path, &[], "");
    Visitor::to(to).await.send(request).await.unwrap_or_else(|error| panic!("{path}: {error}"))
}
