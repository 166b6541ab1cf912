//! Buyers in a process of their own: what it is told on standard input, and says on standard output.

use std::{
    io::{BufRead as _, Write as _},
    process::{ExitCode, Stdio},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context as _, anyhow, bail};
use serde::{Deserialize, Serialize};
use tairlock::Client;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::mpsc,
};

use crate::{
    buyers::{self, Bought, Shop},
    crowd::Ended,
    place,
    progress::{self, Live},
    stop::Stop,
    warehouse::Warehouse,
    ways,
};

/// How long a process may take to come to an end once it was told to.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a process is to do: the first line on its standard input. The second means "go", and the end
/// of input means "stop".
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) way: String,
    /// Not an argument: those can be read by everybody on a machine, and this may hold a password.
    pub(crate) url: String,
    pub(crate) sku: String,
    pub(crate) buyers: u32,
}

/// What a process says, a line each.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Said {
    /// It is connected.
    Ready,
    /// So many orders were confirmed since it last said so, and so many items are left.
    Progress { confirmed: u64, left: u64 },
    /// There is nothing left; each order took so many microseconds.
    SoldOut { micros: Vec<u32> },
    /// It was stopped, and gave back what it held.
    Stopped { held: u64, answered: bool },
    /// It could not go on.
    Failed { error: String },
}

impl Said {
    fn aloud(&self) {
        let line = serde_json::to_string(self).unwrap_or_default();
        // A parent that is gone does not listen; the end of input says so too.
        _ = writeln!(std::io::stdout(), "{line}");
    }
}

/// A process of buyers, as its parent sees it.
pub(crate) struct Peer {
    child: Child,
    tell: Option<ChildStdin>,
    said: Lines<BufReader<ChildStdout>>,
    job: Job,
}

impl Peer {
    /// Starts a process.
    pub(crate) fn start(job: Job) -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("--buyer-process")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start a process for buyers")?;
        let tell = child.stdin.take();
        let said = child.stdout.take().context("a process without an output")?;
        Ok(Self { child, tell, said: BufReader::new(said).lines(), job })
    }

    /// Tells it its job, and waits until it is ready.
    pub(crate) async fn ready(&mut self) -> anyhow::Result<()> {
        self.tell(&serde_json::to_string(&self.job)?).await?;
        match self.hear().await? {
            Said::Ready => Ok(()),
            Said::Failed { error } => bail!(error),
            other => bail!("a process of buyers is not ready: {other:?}"),
        }
    }

    /// Opens the doors, and listens until it has ended.
    pub(crate) async fn go(mut self, live: Arc<Live>, stop: Stop) -> anyhow::Result<Ended> {
        let ended = self.listen(&live, &stop).await;
        self.dismiss().await?;
        ended
    }

    /// Tells it to stop, and waits until it has ended.
    pub(crate) async fn dismiss(mut self) -> anyhow::Result<()> {
        self.tell = None;
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        ended.context("a process of buyers does not come to an end")??;
        Ok(())
    }

    async fn listen(&mut self, live: &Live, stop: &Stop) -> anyhow::Result<Ended> {
        self.tell("go").await?;
        loop {
            tokio::select! {
                // Dropped, its input ends. It may well have been interrupted too: then it knows.
                () = stop.asked(), if self.tell.is_some() => self.tell = None,
                said = self.hear() => match said? {
                    Said::Ready => {}
                    Said::Progress { confirmed, left } => live.confirmed(confirmed, left),
                    Said::SoldOut { micros } => return Ok(Ended::SoldOut(micros)),
                    Said::Stopped { held, answered } => {
                        return Ok(Ended::Stopped { held, answered });
                    }
                    Said::Failed { error } => bail!(error),
                },
            }
        }
    }

    async fn tell(&mut self, line: &str) -> anyhow::Result<()> {
        let input = self.tell.as_mut().context("a process that was told to stop")?;
        input.write_all(format!("{line}\n").as_bytes()).await.context("a process of buyers is gone")
    }

    /// The next thing that it says. Nothing is lost if this is dropped.
    async fn hear(&mut self) -> anyhow::Result<Said> {
        let line = self.said.next_line().await?;
        let line = line.ok_or_else(|| anyhow!("a process of buyers ended without a result"))?;
        serde_json::from_str(&line).with_context(|| format!("a process of buyers said {line:?}"))
    }
}

/// What such a process does.
pub(crate) async fn buy_for_parent(stop: Stop) -> ExitCode {
    let said =
        serve(&stop).await.unwrap_or_else(|error| Said::Failed { error: format!("{error:#}") });
    said.aloud();
    ExitCode::SUCCESS
}

async fn serve(stop: &Stop) -> anyhow::Result<Said> {
    let mut told = hear_parent(stop.clone());
    let job = told.recv().await.context("no job on standard input")?;
    let Job { way, url, sku, buyers } = serde_json::from_str(&job)?;
    let way = ways::named(&way).context("a way that does not exist")?;

    let client = Client::connect(&url).await?;
    tairlock::set_default(client.clone())?;
    let warehouse = Warehouse::on_server(place::connect(&url).await?, &sku);
    let shop = Arc::new(Shop::new(warehouse, sku));
    Said::Ready.aloud();
    if told.recv().await.is_none() {
        return Ok(Said::Stopped { held: 0, answered: client.close().await });
    }

    let live = Arc::new(Live::new(u64::MAX));
    let report = |confirmed, left| {
        if confirmed > 0 {
            Said::Progress { confirmed, left }.aloud();
        }
    };
    let reporting = tokio::spawn(progress::follow(Arc::clone(&live), report));
    let bought = buyers::rush(way, &shop, buyers, &live, stop).await;
    reporting.abort();
    _ = reporting.await;
    let (confirmed, left) = live.news();
    report(confirmed, left);
    let answered = client.close().await;
    Ok(match bought? {
        Bought::All(micros) => Said::SoldOut { micros },
        Bought::Stopped { held } => Said::Stopped { held, answered },
    })
}

/// What the parent says, line by line; its silence is a request to stop.
fn hear_parent(stop: Stop) -> mpsc::UnboundedReceiver<String> {
    let (send, receive) = mpsc::unbounded_channel();
    // A thread, since tokio's standard input would keep the process from ending.
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            _ = send.send(line);
        }
        stop.ask();
    });
    receive
}
