//! How a browser is contained, and that nothing of it is left.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    time::Duration,
};

use pinhole_browser::{Browser, BrowserConfig, BrowserError, DEFAULT_UID};
use pinhole_testkit::{wait_for, wait_until};

use crate::support::{browser, directory_of, group_members};

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Looks at /proc itself, and does not ask the crate under test.
#[tokio::test]
async fn renderers_have_a_seccomp_filter_and_a_user_namespace() {
    let browser = browser().await;
    let is_renderer = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("--type=renderer")
    };
    let renderers: Vec<u32> = group_members(browser.pid()).into_iter().filter(is_renderer).collect();
    assert!(!renderers.is_empty());
    for pid in renderers {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        assert!(status.contains("Seccomp:\t2"), "{status}");
        let theirs = fs::read_link(format!("/proc/{pid}/ns/user")).unwrap();
        assert_ne!(theirs, fs::read_link("/proc/self/ns/user").unwrap());
    }
    assert!(browser.facts().sandboxed);
    browser.close().await;
}

#[tokio::test]
async fn no_process_of_the_browser_runs_as_root_or_sees_our_environment() {
    let browser = browser().await;
    let members = group_members(browser.pid());
    assert!(members.len() > 2, "{members:?}");
    for pid in &members {
        assert_eq!(fs::metadata(format!("/proc/{pid}")).unwrap().uid(), browser.facts().uid);
    }
    assert_ne!(browser.facts().uid, 0);
    let environment = fs::read(format!("/proc/{}/environ", browser.pid())).unwrap();
    assert!(!String::from_utf8_lossy(&environment).contains("CARGO"), "the environment is cleared");
    let directory = fs::metadata(directory_of(&browser)).unwrap();
    assert_eq!((directory.uid(), directory.mode() & 0o777), (browser.facts().uid, 0o700));
    browser.close().await;
}

#[tokio::test]
async fn root_without_an_unprivileged_user_is_refused() {
    if !is_root() {
        return;
    }
    for uid in [None, Some(0)] {
        let error = Browser::launch(&BrowserConfig { uid, ..BrowserConfig::default() }).await.unwrap_err();
        assert!(matches!(error, BrowserError::RootWithoutUser), "{error}");
    }
    assert_eq!(BrowserConfig::default().uid, Some(DEFAULT_UID));
}

#[tokio::test]
async fn closing_leaves_no_process_and_no_file() {
    let browser = browser().await;
    let (group, directory) = (browser.pid(), directory_of(&browser));
    assert!(directory.is_dir());
    browser.close().await;
    assert_eq!(group_members(group), [] as [u32; 0]);
    assert!(!directory.exists());
}

#[tokio::test]
async fn dropping_leaves_no_process_and_no_file() {
    let browser = browser().await;
    let (group, directory) = (browser.pid(), directory_of(&browser));
    drop(browser);
    assert_eq!(group_members(group), [] as [u32; 0]);
    assert!(!directory.exists());
}

/// A wrapper tells which process and directory the launch made, since nobody gets to see the browser, and leaves a
/// helper that does not end with the browser as Chromium's own do.
#[tokio::test]
async fn a_launch_that_is_given_up_leaves_nothing() {
    let folder = tempfile::TempDir::new().unwrap();
    let (wrapper, told) = (folder.path().join("browser"), folder.path().join("told"));
    let real = BrowserConfig::default().executable;
    let script =
        format!("#!/bin/sh\necho $$ \"$@\" >{}\nsleep 600 &\nexec {} \"$@\"\n", told.display(), real.display());
    fs::write(&wrapper, script).unwrap();
    fs::write(&told, "").unwrap();
    for (path, mode) in [(folder.path(), 0o755), (&wrapper, 0o755), (&told, 0o666)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let config = BrowserConfig { executable: wrapper, ..BrowserConfig::default() };
    let started = wait_for(Duration::from_secs(10), "the wrapper runs", async || {
        let line = fs::read_to_string(&told).unwrap();
        line.ends_with('\n').then_some(line)
    });
    let line = tokio::select! {
        line = started => line,
        browser = Browser::launch(&config) => panic!("launched before the wrapper spoke: {browser:?}"),
    };
    let group: u32 = line.split(' ').next().unwrap().parse().unwrap();
    let profile = line.split(' ').find_map(|part| part.strip_prefix("--user-data-dir=")).unwrap();
    let directory = std::path::Path::new(profile).parent().unwrap();
    assert!(directory.starts_with(std::env::temp_dir()));
    wait_until(Duration::from_secs(15), "process and directory are gone", async || {
        group_members(group).is_empty() && !directory.exists()
    })
    .await;
}

#[tokio::test]
async fn a_binary_that_is_no_browser_is_an_error_with_its_words() {
    let missing = BrowserConfig { executable: "/nonexistent/browser".into(), ..BrowserConfig::default() };
    assert!(matches!(Browser::launch(&missing).await.unwrap_err(), BrowserError::NoExecutable(_)));
    let other = BrowserConfig { executable: "/bin/ls".into(), ..BrowserConfig::default() };
    let error = Browser::launch(&other).await.unwrap_err();
    assert!(matches!(&error, BrowserError::Exited(words) if words.contains("ls")), "{error}");
}
