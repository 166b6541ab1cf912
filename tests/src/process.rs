//! Child processes that end with the tests, and whose ending can be awaited.

use std::io;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc::{Sender, channel};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

type Order = (Command, Sender<io::Result<Child>>);

/// The thread that starts all children. The kernel kills a child when the *thread* that started it
/// ends; this one ends with the process, however the process ends.
static SPAWNER: LazyLock<Mutex<Sender<Order>>> = LazyLock::new(|| {
    let (orders, inbox) = channel::<Order>();
    thread::spawn(move || {
        for (mut command, answer) in inbox {
            let _ = answer.send(command.spawn());
        }
    });
    Mutex::new(orders)
});

/// A command for `program` which is killed when this process is gone: a server that lives in a
/// `static` is never dropped.
pub(crate) fn command(program: &Path) -> Command {
    if !Path::new("/usr/bin/setpriv").is_file() {
        return Command::new(program);
    }
    let mut command = Command::new("/usr/bin/setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

pub(crate) fn spawn(command: Command) -> io::Result<Child> {
    let (answer, outcome) = channel();
    let orders = SPAWNER.lock().unwrap_or_else(PoisonError::into_inner);
    orders.send((command, answer)).map_err(io::Error::other)?;
    drop(orders);
    outcome.recv().map_err(io::Error::other)?
}

pub(crate) fn signal(pid: u32, signal: Signal) -> io::Result<()> {
    Ok(kill_process(to_pid(pid)?, signal)?)
}

/// Waits until `child` has ended, and says whether it did within `bound`.
pub(crate) fn wait(child: &mut Child, bound: Duration) -> io::Result<bool> {
    if child.try_wait()?.is_some() {
        return Ok(true);
    }
    let handle = pidfd_open(to_pid(child.id())?, PidfdFlags::empty())?;
    let bound = Timespec::try_from(bound).map_err(io::Error::other)?;
    poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&bound))?;
    Ok(child.try_wait()?.is_some())
}

fn to_pid(pid: u32) -> io::Result<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or_else(|| io::ErrorKind::NotFound.into())
}
