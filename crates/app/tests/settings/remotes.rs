//! Git remotes over the operations, and those of the server's own configuration.

use pinhole_core::Role;
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    rows::on_both_engines,
    support::{Bench, refused},
};

on_both_engines! {
    an_administrator_puts_remotes_by_version
    a_configured_remote_is_changed_in_the_configuration_alone
}

fn remote(slug: &str, version: impl Into<Value>) -> Value {
    json!({
        "slug": slug, "url": "https://git.example/shop.git", "branches": ["main", "release/*"],
        "expected_version": version.into(),
    })
}

async fn an_administrator_puts_remotes_by_version(engine: Engine) {
    let bench = Bench::on(engine).await;
    let owner = bench.person("Otto", &[Role::Owner, Role::Publisher]).await;
    let put = async |actor, input| bench.call(actor, "put_remote", input).await;
    assert_eq!(refused(put(&owner, remote("origin", 0)).await), ("permission_denied", "admin".into()));
    let listed = bench.call(&owner, "list_remotes", json!({})).await;
    assert_eq!(refused(listed), ("permission_denied", "admin".into()));
    let missing = put(&bench.owner, remote("origin", Value::Null)).await;
    assert_eq!(refused(missing), ("precondition_required", "expected_version".into()));
    let made = put(&bench.owner, remote("origin", 0)).await.unwrap();
    assert_eq!((&made["version"], &made["configured"]), (&json!(1), &json!(false)));
    assert_eq!(refused(put(&bench.owner, remote("origin", 0)).await), ("conflict", "stale_version".into()));
    let mut change = remote("origin", 1);
    change["url"] = "https://new.example/shop.git".into();
    let changed = put(&bench.owner, change).await.unwrap();
    assert_eq!((&changed["id"], &changed["version"]), (&made["id"], &json!(2)));
    for (member, value) in [
        ("url", json!("/srv/catalog.git")),
        ("url", json!("file:///srv/catalog.git")),
        ("url", json!("https://u:p@git.example/shop.git")),
        ("branches", json!(["a b"])),
    ] {
        let mut wrong = remote("other", 0);
        wrong[member] = value;
        assert_eq!(refused(put(&bench.owner, wrong).await).0, "invalid_arguments", "{member}");
    }
    put(&bench.owner, remote("mirror", 0)).await.unwrap();
    let page = bench.call(&bench.owner, "list_remotes", json!({ "limit": 1 })).await.unwrap();
    assert_eq!(page["remotes"][0]["slug"], "origin");
    let rest = json!({ "limit": 1, "cursor": page["next_cursor"] });
    let rest = bench.call(&bench.owner, "list_remotes", rest).await.unwrap();
    assert_eq!((&rest["remotes"][0]["slug"], rest.get("next_cursor")), (&json!("mirror"), None));
}

async fn a_configured_remote_is_changed_in_the_configuration_alone(engine: Engine) {
    let bench = Bench::on(engine).await;
    let slug = "origin".parse().unwrap();
    bench.app.put_remote(&slug, "https://git.example/a.git", &["main".into()]).await.unwrap();
    let outcome = bench.call(&bench.owner, "put_remote", remote("origin", 1)).await;
    assert_eq!(refused(outcome), ("conflict", "configured".into()));
    let listed = bench.call(&bench.owner, "list_remotes", json!({})).await.unwrap();
    assert_eq!(listed["remotes"][0]["configured"], true);
    // The configuration may also take over what was put before.
    bench.call(&bench.owner, "put_remote", remote("mirror", 0)).await.unwrap();
    bench.app.put_remote(&"mirror".parse().unwrap(), "/srv/a.git", &["main".into()]).await.unwrap();
    let outcome = bench.call(&bench.owner, "put_remote", remote("mirror", 2)).await;
    assert_eq!(refused(outcome), ("conflict", "configured".into()));
}
