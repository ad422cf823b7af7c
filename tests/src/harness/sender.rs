//! A sender of webhooks that is not ours: the package `standardwebhooks` signs what it sends.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use serde_json::Value;

use super::node::node;

/// Sends `body` to `url` as the delivery `id`, signed with each of `secrets`, of which there are one or two. Gives the
/// status and the body of the answer.
pub(crate) fn send_webhook(url: &str, secrets: &[&str], id: &str, body: &str) -> (u16, Value) {
    let [secret, rest @ ..] = secrets else { panic!("a delivery is signed") };
    let mut command: Command = node("webhooks", "send.mjs");
    command.args([url, secret, id]).args(rest).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("node is installed");
    child.stdin.take().unwrap().write_all(body.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "the sender ended with {}", output.status);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    (answer["status"].as_u64().unwrap().try_into().unwrap(), answer["body"].clone())
}
