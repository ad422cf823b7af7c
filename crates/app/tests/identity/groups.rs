//! Groups: a role of a group is a member's from the moment they are in it until the moment they are not.

use pinhole_core::{PrincipalId, Role};
use pinhole_testkit::Engine;
use serde_json::{Value, json};

use crate::{
    people::assert_refused,
    support::{Bench, PROJECT},
};

impl Bench {
    async fn group(&self, name: &str) -> Value {
        self.keyed(&self.owner, "create_group", json!({ "name": name })).await.unwrap()
    }

    async fn put_members(&self, group: &Value, members: &[PrincipalId]) -> Value {
        let input = json!({ "group_id": group["id"], "members": members, "expected_version": group["version"] });
        self.call(&self.owner, "put_group_members", input).await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_through_a_group_works_and_ends_at_once() {
    for engine in Engine::ALL {
        let bench = Bench::on(engine).await;
        let member = bench.person("Mia", &[]).await;
        let group = bench.group("viewers").await;
        let grant = json!({ "project": PROJECT, "subject": group["id"], "role": "viewer" });
        let granted = bench.call(&bench.owner, "grant_role", grant.clone()).await.unwrap();
        assert_eq!(granted["name"], "viewers");
        assert_refused(bench.reads(&member).await, "not_found", "");
        let group = bench.put_members(&group, &[member.principal]).await;
        assert_eq!((&group["version"], &group["members"]), (&json!(2), &json!([member.principal])));
        bench.reads(&member).await.unwrap();
        let me = bench.call(&member, "whoami", json!({})).await.unwrap();
        assert_eq!(me["groups"], json!([{ "id": group["id"], "name": "viewers" }]));

        let group = bench.put_members(&group, &[]).await;
        assert_refused(bench.reads(&member).await, "not_found", "");
        bench.put_members(&group, &[member.principal]).await;
        bench.reads(&member).await.unwrap();
        bench.call(&bench.owner, "revoke_role", grant).await.unwrap();
        assert_refused(bench.reads(&member).await, "not_found", "");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn members_are_put_on_the_version_that_was_seen() {
    let bench = Bench::on(Engine::Sqlite).await;
    let user = bench.stranger("Mia").await;
    let input = json!({ "name": "one", "idempotency_key": "k" });
    let group = bench.call(&bench.owner, "create_group", input.clone()).await.unwrap();
    let again = bench.call(&bench.owner, "create_group", input).await.unwrap();
    assert_eq!((&again["id"], &again["replayed"]), (&group["id"], &json!(true)));
    assert_refused(bench.keyed(&bench.owner, "create_group", json!({ "name": "one" })).await, "conflict", "exists");

    let put = async |members: Value, version: Value| {
        let input = json!({ "group_id": group["id"], "members": members, "expected_version": version });
        bench.call(&bench.owner, "put_group_members", input).await
    };
    assert_refused(put(json!([user]), Value::Null).await, "precondition_required", "expected_version");
    put(json!([user]), json!(1)).await.unwrap();
    assert_refused(put(json!([]), json!(1)).await, "conflict", "stale_version");
    let nobody = format!("prn_{}", "0".repeat(32));
    for (wrong, field) in [
        (json!([user, user]), "members[1]"),
        (json!([user, nobody]), "members[1]"),
        (json!(vec![nobody.clone(); 1001]), "members"),
    ] {
        assert_eq!(put(wrong, json!(2)).await.unwrap_err().details().field.as_deref(), Some(field));
    }
    let read = bench.call(&bench.owner, "get_group", json!({ "group_id": group["id"] })).await.unwrap();
    assert_eq!((&read["version"], &read["members"]), (&json!(2), &json!([user])));
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_and_principals_are_listed_in_pages_for_administrators() {
    for engine in Engine::ALL {
        let bench = Bench::on(engine).await;
        for name in ["gamma", "alpha", "beta \u{e9}\u{1f980}"] {
            bench.group(name).await;
        }
        bench.stranger("Ada").await;
        let owner = bench.person("Vera", &[Role::Owner]).await;
        for (operation, member, expected) in [
            ("list_groups", "groups", &["alpha", "beta \u{e9}\u{1f980}", "gamma"][..]),
            ("list_principals", "principals", &["Ada", "Olga", "Vera", "Wanda"]),
        ] {
            let (mut names, mut cursor) = (Vec::new(), Value::Null);
            loop {
                let input = json!({ "limit": 1, "cursor": cursor });
                let page = bench.call(&bench.owner, operation, input).await.unwrap();
                names.push(page[member][0]["name"].as_str().unwrap().to_owned());
                cursor = page["next_cursor"].clone();
                if cursor.is_null() {
                    break;
                }
            }
            assert_eq!(names, expected);
            assert_refused(bench.call(&owner, operation, json!({})).await, "permission_denied", "admin");
        }
    }
}
