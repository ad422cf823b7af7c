//! Publications over real servers: what they refuse, what passes, and what is lost on the way.

use pinhole_core::{PublicationId, RemoteAccess};
use pinhole_receipt::HistoryReport;
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    support::{Apache, PASSWORD, Pace, Relay, Sshd},
    tampering::commits_valid,
    world::World,
};

impl World {
    /// Makes the remote the server at `url`.
    pub(crate) async fn served_at(&self, url: &str, access: &RemoteAccess) {
        let branches = ["catalog".to_owned(), "release/*".to_owned()];
        self.app.put_configured_remote(&"origin".parse().unwrap(), url, &branches, access).await.unwrap();
    }

    /// A publication that is asked for, of the first revision onto a branch that is not there yet.
    async fn first(&self) -> PublicationId {
        self.revision(1).await;
        self.ask(1, json!({ "commit": null })).await
    }
}

/// An installation whose remote is behind Apache.
async fn behind_apache() -> (World, Apache) {
    let world = World::new(Engine::Sqlite).await;
    let server = Apache::start(world.folder.path()).await;
    world.served_at(&server.url(), &server.access()).await;
    (world, server)
}

fn detail(view: &Value) -> &str {
    view["detail"].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_published_to_over_https_and_ssh() {
    let (world, apache) = behind_apache().await;
    let id = world.first().await;
    let view = world.try_once(id).await;
    assert_eq!(view["state"], "published", "{view}");
    drop(apache);
    let sshd = Sshd::start();
    world.served_at(&sshd.url(&world.remote_path()), &sshd.access()).await;
    world.revision(2).await;
    let id = world.ask(2, json!({ "commit": world.head() })).await;
    let view = world.try_once(id).await;
    assert_eq!(view["state"], "published", "{view}");
    assert_eq!(commits_valid(&world).unwrap(), HistoryReport { publications: 2, others: 0 });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_protected_branch_is_rejected_in_the_servers_words() {
    let (world, _server) = behind_apache().await;
    let words = "GH013: Repository rule violations found: changes must be made through a pull request";
    world.hook_with("update", &format!("echo '{words}'; exit 1"));
    let id = world.first().await;
    let view = world.try_once(id).await;
    assert_eq!(view["state"], "rejected", "{view}");
    assert!(detail(&view).contains(words), "{view}");
    assert_eq!(world.head(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_refuses_the_content_is_asked_once() {
    let (world, _server) = behind_apache().await;
    let asked = world.path("remote.git/asked");
    let look =
        "read old new ref; git log -1 --format=%B $new | grep -q '^Ticket: ' || { echo 'name a ticket'; exit 1; }";
    world.hook_with("pre-receive", &format!("echo x >> '{}'; {look}", asked.display()));
    let id = world.first().await;
    let view = world.try_once(id).await;
    assert_eq!((view["state"].as_str(), detail(&view).contains("name a ticket")), (Some("rejected"), true), "{view}");
    assert_eq!(world.try_once(id).await["state"], "rejected");
    assert_eq!(std::fs::read_to_string(asked).unwrap(), "x\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_the_server_cannot_lock_is_tried_again() {
    let (world, _server) = behind_apache().await;
    let id = world.first().await;
    let lock = world.path("remote.git/refs/heads/catalog.lock");
    std::fs::write(&lock, "").unwrap();
    let view = world.try_once(id).await;
    assert_eq!(view["state"], "pushing", "{view}");
    assert!(detail(&view).starts_with("try 1 of 12: "), "{view}");
    std::fs::remove_file(lock).unwrap();
    let view = world.try_once(id).await;
    assert_eq!(view["state"], "published", "{view}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_that_expires_can_be_put_right() {
    let (world, server) = behind_apache().await;
    let id = world.first().await;
    // Between the look and the push.
    server.answer("push", "401", true);
    let view = world.try_once(id).await;
    assert_eq!((view["state"].as_str(), world.head()), (Some("pushing"), None), "{view}");
    assert!(detail(&view).contains("the server refuses the credential"), "{view}");
    server.answer("push", "401", false);
    server.change_password("another");
    let view = world.try_once(id).await;
    assert!(detail(&view).contains("the server refuses the credential"), "{view}");
    assert!(!view.to_string().contains(PASSWORD), "{view}");
    server.change_password(PASSWORD);
    let view = world.try_once(id).await;
    assert_eq!(view["state"], "published", "{view}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_cannot_do_now_is_tried_again() {
    let (world, server) = behind_apache().await;
    let id = world.first().await;
    let mut tries = 0;
    for (request, status) in [("look", "500"), ("look", "429"), ("push", "503"), ("push", "429")] {
        server.answer(request, status, true);
        let view = world.try_once(id).await;
        tries += 1;
        let expected = format!("try {tries} of 12: ");
        assert!(detail(&view).starts_with(&expected) && detail(&view).contains(status), "{view}");
        server.answer(request, status, false);
    }
    assert_eq!(world.head(), None);
    let view = world.try_once(id).await;
    assert_eq!(view["state"], "published", "{view}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_cut_leaves_nothing_or_the_one_commit() {
    let (world, server) = behind_apache().await;
    let relay = Relay::start(server.address(), Pace::Free).await;
    world.served_at(&Apache::url_at(relay.address), &server.access()).await;
    let id = world.first().await;
    // Ever later: within TLS, within the first answer, and when all is said but the last.
    for bytes in [10, 1_500, 2_500, 3_500] {
        relay.set(Pace::EndAfter(bytes));
        world.try_once(id).await;
        assert!(world.head().is_none() || world.commits().len() == 1);
    }
    // The server takes the push, and its answer does not come.
    relay.set(Pace::Free);
    world.hook_with("post-receive", "kill -9 $PPID");
    world.try_once(id).await;
    let view = world.try_once(id).await;
    assert_eq!((view["state"].as_str(), world.commits().len()), (Some("published"), 1), "{view}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_shows_an_old_head_is_asked_again() {
    let (world, _server) = behind_apache().await;
    let id = world.first().await;
    let remote = world.remote_path();
    let git = format!("git -C '{}' -c safe.directory='*'", remote.display());
    let lagging = format!(
        "case \"$input\" in *'\"operation\":\"read_back\"'*) {git} branch -m catalog ahead; \"$REAL\" git-helper; \
         {git} branch -m ahead catalog;; *) \"$REAL\" git-helper;; esac"
    );
    let settings = world.scripted(&format!("printf %s \"$input\" | ( {lagging} )"));
    let view = world.try_with(&settings, id).await;
    assert_eq!(view["state"], "verifying", "{view}");
    assert!(detail(&view).contains("the branch does not show the commit"), "{view}");
    let view = world.try_once(id).await;
    assert_eq!((view["state"].as_str(), world.commits().len()), (Some("published"), 1), "{view}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_the_server_finds_too_large_is_rejected() {
    let (world, _server) = behind_apache().await;
    world.git(&world.remote_path(), &["config", "receive.maxInputSize", "100"]);
    let id = world.first().await;
    let view = world.try_once(id).await;
    assert_eq!(view["state"], "rejected", "{view}");
    assert_eq!(world.head(), None);
}
