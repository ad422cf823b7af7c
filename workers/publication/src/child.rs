//! The parent's side: starts the child with a cleared environment in a process group of its own, gives it the request,
//! and takes the answer, all within one deadline. Whatever ends early, the group is killed.

use std::{io, process::Stdio};

use pinhole_gitcat::{FailureKind, GitAnswer};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, ChildStdin, Command},
    time::timeout,
};

use crate::{PublicationSettings, helper::HelperRequest};

/// Greatest size of an answer in bytes: digests of as many files as a catalog may have.
const MAX_ANSWER_BYTES: u64 = 128 * 1024 * 1024;
/// Greatest number of bytes of what the child says beside its answer.
const MAX_COMPLAINT_BYTES: u64 = 1000;

/// Runs one operation. A child that cannot be started, ends without an answer or runs out of time is an answer too:
/// one after which trying again may help.
pub(crate) async fn ask(settings: &PublicationSettings, request: &HelperRequest) -> GitAnswer {
    let failed = |why: String| GitAnswer::Failed { kind: FailureKind::Transient, why };
    match timeout(settings.deadline, attend(settings, request)).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => failed(format!("the Git process: {error}")),
        Err(_) => failed(format!("the Git process did not end within {} s", settings.deadline.as_secs_f32())),
    }
}

async fn attend(settings: &PublicationSettings, request: &HelperRequest) -> io::Result<GitAnswer> {
    let request = serde_json::to_vec(request)?;
    let mut group = Group::start(settings)?;
    let (Some(input), Some(output), Some(errors)) =
        (group.child.stdin.take(), group.child.stdout.take(), group.child.stderr.take())
    else {
        return Err(io::Error::other("started without its pipes"));
    };
    let mut answer = Vec::new();
    let mut complaint = Vec::new();
    let mut output = output.take(MAX_ANSWER_BYTES);
    let mut errors = errors.take(MAX_COMPLAINT_BYTES);
    let (given, read, _) =
        tokio::join!(give(input, &request), output.read_to_end(&mut answer), errors.read_to_end(&mut complaint));
    read?;
    let status = group.ended().await?;
    // A child that ended early did not read all; why it ended says more than that.
    let complaint = String::from_utf8_lossy(&complaint);
    if !status.success() {
        return Err(io::Error::other(format!("{status}: {}", complaint.trim())));
    }
    given?;
    serde_json::from_slice(&answer).map_err(|error| io::Error::other(format!("it gave no answer: {error}")))
}

async fn give(mut input: ChildStdin, request: &[u8]) -> io::Result<()> {
    input.write_all(request).await?;
    input.shutdown().await
}

/// A child with its process group, killed when dropped before it has ended.
struct Group {
    child: Child,
    /// `None` once the child was waited for: its number may then be another's.
    id: Option<Pid>,
}

impl Group {
    fn start(settings: &PublicationSettings) -> io::Result<Self> {
        let child = Command::new(&settings.helper)
            .arg("git-helper")
            .env_clear()
            .current_dir(&settings.scratch)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Ok(Self { child, id })
    }

    async fn ended(&mut self) -> io::Result<std::process::ExitStatus> {
        let status = self.child.wait().await?;
        self.id = None;
        Ok(status)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            // Fails when all of the group have ended, and that is what is wanted.
            _ = kill_process_group(id, Signal::KILL);
        }
    }
}
