//! A connection on smol's I/O whose task runs on the keepers' thread.
//!
//! redis-rs puts the task of a connection on smol's global executor, which by default is one thread:
//! a task of the program that blocks there would stop renewals with it.

use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, RedisResult,
    aio::MultiplexedConnection,
    io::tcp::{TcpSettings, socket2::SockRef},
};
use smol::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_util::compat::FuturesAsyncReadCompatExt;

use super::smol::spawn_keeper;

pub(super) async fn dial(
    client: &Client,
    config: &AsyncConnectionConfig,
) -> RedisResult<MultiplexedConnection> {
    let info = client.get_connection_info();
    match info.addr() {
        ConnectionAddr::Tcp(host, port) => {
            let stream = TcpStream::connect((host.as_str(), *port)).await?;
            apply(info.tcp_settings(), &stream)?;
            speak(client, config, stream).await
        }
        #[cfg(unix)]
        ConnectionAddr::Unix(path) => {
            speak(client, config, smol::net::unix::UnixStream::connect(path).await?).await
        }
        // TLS brings tokio along, and then no keeper runs on smol.
        _ => client.get_multiplexed_async_connection_with_config(config).await,
    }
}

async fn speak(
    client: &Client,
    config: &AsyncConnectionConfig,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) -> RedisResult<MultiplexedConnection> {
    let settings = client.get_connection_info().redis_settings();
    let (connection, task) =
        MultiplexedConnection::new_with_config(settings, stream.compat(), config.clone()).await?;
    // It ends with the last clone of the connection.
    spawn_keeper(task);
    Ok(connection)
}

/// All settings but the linger time, which redis-rs does not tell.
fn apply(settings: &TcpSettings, stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(settings.nodelay())?;
    let socket = SockRef::from(stream);
    if let Some(keepalive) = settings.keepalive() {
        socket.set_tcp_keepalive(keepalive)?;
    }
    #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
    socket.set_tcp_user_timeout(settings.user_timeout())?;
    Ok(())
}
