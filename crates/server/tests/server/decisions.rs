//! Pages on which people look, review and decide: what each role sees, what is refused, and that it counts as theirs.

use axum::{body::Body, http::Request};
use pinhole_app::Unpublished;
use pinhole_core::{RandomIds, Role};
use pinhole_store::PublicationObservation;
use serde_json::{Value, json};

use crate::world::{Answer, Session, World};

const FORM: &str = "application/x-www-form-urlencoded";

/// A world in which Rob has accepted a capture and an approval of it is asked for, which Ann may give.
struct Asked {
    world: World,
    /// The run's result.
    result: Value,
    approval: Value,
    rob: Session,
    ann: Session,
}

impl Asked {
    async fn new() -> Self {
        let world = World::new().await;
        world.prepare().await;
        let result = world.run(200).await;
        let rob = world.browser("rob", &[Role::Reviewer]).await;
        let ann = world.browser("ann", &[Role::Approver]).await;
        let approval = world.requested(&result, &rob).await;
        Self { world, result, approval, rob, ann }
    }

    /// Where the approval is, on pages and below `/api/v1`.
    fn path(&self) -> String {
        format!("/approvals/{}", self.approval["id"].as_str().unwrap())
    }

    /// Ann approves on the page, and it is consumed into the first revision.
    async fn consume(&self) {
        let (world, path) = (&self.world, self.path());
        let version = self.approval["version"].to_string();
        let decided = decision(&self.ann, &version);
        let decided = world.submit(&self.ann, &format!("{path}/decision"), "same-origin", &decided).await;
        assert_eq!(decided.status(), 303, "{}", decided.text());
        let consumption = json!({
            "intent_digest": self.approval["intent_digest"], "expected_version": 0, "idempotency_key": "consume",
        });
        let made = world.post(&format!("/api/v1{path}/consume"), &world.token, &consumption).await;
        assert_eq!(made.status(), 201, "{}", made.text());
    }
}

impl World {
    /// A browser of somebody with these roles in the project `shop`, who has just signed in.
    async fn browser(&self, name: &str, roles: &[Role]) -> Session {
        let session = self.sign_in(name).await;
        for role in roles {
            self.app.grant(&name.parse().unwrap(), &"shop".parse().unwrap(), None, *role).await.unwrap();
        }
        session
    }

    async fn page(&self, session: &Session, path: &str) -> Answer {
        let request = Request::get(path).header("host", "localhost").header("cookie", session.cookie());
        self.send(request.body(Body::empty()).unwrap()).await
    }

    async fn submit(&self, session: &Session, path: &str, site: &str, fields: &[(&str, &str)]) -> Answer {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let request = Request::post(path)
            .header("host", "localhost")
            .header("cookie", session.cookie())
            .header("sec-fetch-site", site)
            .header("content-type", FORM);
        self.send(request.body(Body::from(body)).unwrap()).await
    }

    /// A pending approval of the first capture of `result`, which `reviewer` accepts on the run's page.
    async fn requested(&self, result: &Value, reviewer: &Session) -> Value {
        let receipt = result["checkpoints"][0]["receipt_id"].as_str().unwrap();
        let run = result["run_id"].as_str().unwrap();
        let fields = [
            ("csrf_token", reviewer.csrf.as_str()),
            ("idempotency_key", "page-1"),
            ("receipts", receipt),
            ("disposition", "accept"),
            ("reason", "as drawn\r\n<b>bold</b>"),
        ];
        let reviewed = self.submit(reviewer, &format!("/runs/{run}/review"), "same-origin", &fields).await;
        assert_eq!(reviewed.status(), 303, "{}", reviewed.text());
        assert_eq!(reviewed.header("location"), format!("/runs/{run}"));
        let key = || pinhole_core::Ids::uuid(&RandomIds).to_string();
        let candidate = json!({ "receipt_id": receipt, "idempotency_key": key() });
        let candidate = self.post("/api/v1/baselines/capture-visual", &self.token, &candidate).await.json();
        let reviews = json!({ "receipts": [receipt], "disposition": "accept", "reason": "as drawn\n<b>bold</b>",
            "idempotency_key": "page-1" });
        let replayed = self.post_as(reviewer, "/api/v1/reviews", &reviews).await.json();
        assert_eq!(replayed["replayed"], true, "{replayed}");
        let request = json!({ "project": "shop", "idempotency_key": key(),
            "items": [{ "candidate_id": candidate["id"], "review_id": replayed["reviews"][0]["id"] }] });
        let asked = self.post("/api/v1/approvals", &self.token, &request).await;
        assert_eq!(asked.status(), 201, "{}", asked.text());
        asked.json()
    }

    async fn post_as(&self, session: &Session, path: &str, body: &Value) -> Answer {
        let request = Request::post(path)
            .header("host", "localhost")
            .header("cookie", session.cookie())
            .header("x-csrf-token", &session.csrf)
            .header("sec-fetch-site", "same-origin")
            .header("content-type", "application/json");
        self.send(request.body(Body::from(body.to_string())).unwrap()).await
    }
}

fn decision<'a>(session: &'a Session, version: &'a str) -> [(&'a str, &'a str); 4] {
    [
        ("csrf_token", session.csrf.as_str()),
        ("expected_version", version),
        ("outcome", "approve"),
        ("reason", "looked at it"),
    ]
}

#[tokio::test]
async fn lists_lead_to_runs_and_show_nothing_to_strangers() {
    let world = World::new().await;
    world.prepare().await;
    let result = world.run(200).await;
    let (viewer, stranger) = (world.browser("vic", &[Role::Viewer]).await, world.browser("eve", &[]).await);
    let run = format!("/runs/{}", result["run_id"].as_str().unwrap());
    for (path, text) in [
        ("/projects", "<a href=\"/projects/shop\">"),
        ("/projects/shop", run.as_str()),
        ("/projects/shop/approvals", "Nobody has asked"),
        ("/projects/shop/baselines", "None yet"),
        ("/projects/shop/publications", "Nothing has been published"),
    ] {
        let page = world.page(&viewer, path).await;
        assert_eq!(page.status(), 200, "{path}: {}", page.text());
        assert!(page.text().contains(text), "{path}: {}", page.text());
        assert_eq!(page.text().matches("<h1>").count(), 1, "{path}");
        assert!(!page.text().contains("<script"), "{path}");
    }
    assert!(!world.page(&stranger, "/projects").await.text().contains("shop"));
    let parts = ["", "/approvals", "/baselines", "/publications"].map(|part| format!("/projects/shop{part}"));
    for path in parts.into_iter().chain([run]) {
        let hidden = world.page(&stranger, &path).await;
        let missing = world.page(&stranger, "/projects/nothing").await;
        assert_eq!((hidden.status().as_u16(), missing.status().as_u16()), (404, 404), "{path}");
        let plain = |answer: &Answer| answer.text().replace(answer.header("x-request-id"), "");
        assert_eq!(plain(&hidden), plain(&missing), "{path}");
    }
}

#[tokio::test]
async fn the_review_form_is_for_reviewers_alone() {
    let world = World::new().await;
    world.prepare().await;
    let result = world.run(200).await;
    let path = format!("/runs/{}", result["run_id"].as_str().unwrap());
    for (name, role, shown) in
        [("vic", Role::Viewer, false), ("rob", Role::Reviewer, true), ("ann", Role::Approver, false)]
    {
        let page = world.page(&world.browser(name, &[role]).await, &path).await;
        assert_eq!(page.text().contains("/review\""), shown, "{name}: {}", page.text());
        assert_eq!(page.text().contains("type=\"checkbox\""), shown, "{name}");
    }
}

#[tokio::test]
async fn a_person_reviews_and_another_decides_on_pages() {
    let asked = Asked::new().await;
    let Asked { world, result, approval, rob, ann } = &asked;
    let run = world.page(rob, &format!("/runs/{}", result["run_id"].as_str().unwrap())).await.text();
    assert!(run.contains("as drawn\n&lt;b&gt;bold&lt;/b&gt;") && !run.contains("<b>bold"), "{run}");

    let path = asked.path();
    let listed = world.page(ann, "/projects/shop/approvals").await.text();
    assert!(listed.contains(&format!("href=\"{path}\"")), "{listed}");
    let page = world.page(ann, &path).await.text();
    let picture = result["checkpoints"][0]["picture"]["content"]["path"].as_str().unwrap();
    for text in [picture, approval["intent_digest"].as_str().unwrap(), "/decision\"", "<strong>ada</strong>", &ann.csrf]
    {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(!world.page(rob, &path).await.text().contains("/decision\""), "a reviewer is no approver");

    let decide = format!("{path}/decision");
    let version = approval["version"].to_string();
    let decided = world.submit(ann, &decide, "same-origin", &decision(ann, &version)).await;
    assert_eq!((decided.status().as_u16(), decided.header("location")), (303, path.as_str()), "{}", decided.text());
    let after = world.get(&format!("/api/v1{path}"), &world.token).await.json();
    assert_eq!((after["state"].as_str(), after["decisions"][0]["via"].as_str()), (Some("approved"), Some("session")));
    let page = world.page(ann, &path).await.text();
    assert!(page.contains("looked at it") && page.contains("<strong>ann</strong>"), "{page}");
    assert!(!page.contains("/decision\""), "what is decided is not decided again");
    let again = world.submit(ann, &decide, "same-origin", &decision(ann, &version)).await;
    assert_eq!(again.status(), 409, "{}", again.text());
    assert!(again.text().contains("conflict") && again.text().contains(again.header("x-request-id")));
}

#[tokio::test]
async fn forms_without_token_and_forms_of_others_change_nothing() {
    let asked = Asked::new().await;
    let (path, Asked { world, approval, rob, ann, .. }) = (asked.path(), &asked);
    let decide = format!("{path}/decision");
    let version = approval["version"].to_string();
    let good = decision(ann, &version);
    for (site, fields) in [
        ("cross-site", good.to_vec()),
        ("same-site", good.to_vec()),
        ("same-origin", good[1..].to_vec()),
        ("same-origin", [&[("csrf_token", rob.csrf.as_str())], &good[1..]].concat()),
        ("same-origin", decision(ann, "x").to_vec()),
        ("same-origin", [&good[..3], &[("reason", " ")]].concat()),
    ] {
        let refused = world.submit(ann, &decide, site, &fields).await;
        assert!(matches!(refused.status().as_u16(), 401 | 403 | 422), "{site} {fields:?}: {}", refused.status());
        assert!(refused.header("content-type").starts_with("text/html"), "{site} {fields:?}");
    }
    // Somebody without the role, however they come by the form.
    let reviewer = world.submit(rob, &decide, "same-origin", &decision(rob, &version)).await;
    assert_eq!(reviewer.status(), 403, "{}", reviewer.text());
    let after = world.get(&format!("/api/v1{path}"), &world.token).await.json();
    assert_eq!((after["state"].as_str(), after["version"].to_string()), (Some("pending"), version));
}

#[tokio::test]
async fn the_baselines_of_each_line_are_shown() {
    let asked = Asked::new().await;
    asked.consume().await;
    let Asked { world, ann, .. } = &asked;
    let baselines = "/projects/shop/baselines";
    let page = world.page(ann, baselines).await.text();
    assert!(page.contains("Revision 1 ") && !page.contains("class=\"lines\""), "one line needs no list: {page}");

    let owner = world.browser("olga", &[Role::Owner]).await;
    let fork = json!({ "line": "release/1", "revision": 1, "idempotency_key": "fork" });
    let forked = world.post_as(&owner, "/api/v1/catalog/shop/fork", &fork).await;
    assert_eq!(forked.status(), 201, "{}", forked.text());
    let page = world.page(ann, baselines).await.text();
    let other = format!("{baselines}?line=release%2F1");
    for text in [format!("href=\"{other}\""), "forked from main revision 1".into(), "aria-current=\"true\">main".into()]
    {
        assert!(page.contains(&text), "{text}: {page}");
    }
    let page = world.page(ann, &other).await.text();
    assert!(page.contains("aria-current=\"true\">release/1") && page.contains("<td>"), "{page}");
    for nowhere in ["release%2F2", "%3Cb%3E"] {
        let page = world.page(ann, &format!("{baselines}?line={nowhere}")).await;
        assert_eq!(page.status(), 404, "{}", page.text());
    }
}

#[tokio::test]
async fn extracted_values_are_shown_field_by_field() {
    let world = World::new().await;
    world.prepare().await;
    world.extract(r#"{"note":"<b>old</b>","rows":3}"#).await;
    let result = world.extract(r#"{"note":"new","rows":3}"#).await;
    let browser = world.browser("rob", &[Role::Reviewer, Role::Approver]).await;
    let run = world.page(&browser, &format!("/runs/{}", result["run_id"].as_str().unwrap())).await.text();
    let changed = "<td>note</td><td><span class=\"value\">&lt;b&gt;old&lt;/b&gt;</span></td>\
        <td><span class=\"value\">new</span></td><td><span class=\"badge changed\">changed</span></td>";
    assert!(run.contains(changed) && !run.contains("<img") && !run.contains(" px"), "{run}");
    assert!(!run.contains("/review\""), "values are not reviewed");

    let receipt = &result["checkpoints"][0]["receipt_id"];
    let candidate = json!({ "receipt_id": receipt, "idempotency_key": "candidate" });
    let candidate = world.post("/api/v1/baselines/capture", &world.token, &candidate).await.json();
    let request =
        json!({ "project": "shop", "idempotency_key": "approval", "items": [{ "candidate_id": candidate["id"] }] });
    let approval = world.post("/api/v1/approvals", &world.token, &request).await.json();
    let page = world.page(&browser, &format!("/approvals/{}", approval["id"].as_str().unwrap())).await.text();
    let first = "<td>note</td><td>–</td><td><span class=\"value\">new</span></td><td></td>";
    assert!(page.contains(first) && page.contains("New: no entry yet.") && !page.contains("<img"), "{page}");
    assert!(page.contains("/decision\""), "{page}");
}

#[tokio::test]
async fn a_refused_publication_says_what_was_to_be_published_and_why_it_was_not() {
    let asked = Asked::new().await;
    asked.consume().await;
    let Asked { world, approval, ann, .. } = &asked;
    let id = approval["id"].as_str().unwrap();
    world.browser("ada", &[Role::Publisher]).await;
    world.app.put_remote(&"depot".parse().unwrap(), "/srv/catalog.git", &["main".into()]).await.unwrap();
    let publish = json!({ "project": "shop", "remote": "depot", "branch": "main", "expected_head": { "commit": null },
        "expected_version": 1, "idempotency_key": "p" });
    let publication = world.post("/api/v1/publications", &world.token, &publish).await.json();
    let path = format!("/publications/{}", publication["id"].as_str().unwrap());
    let queued = world.page(ann, &path).await.text();
    assert!(queued.contains("waits for its turn") && queued.contains("http-equiv=\"refresh\""), "{queued}");

    let work =
        world.app.claim_publication(publication["id"].as_str().unwrap().parse().unwrap()).await.unwrap().unwrap();
    assert!(world.app.end_publication(&work.lease, Unpublished::Rejected, "hook: <no>").await.unwrap());
    let page = world.page(ann, &path).await.text();
    let revision = "/projects/shop/baselines?line=main&amp;revision=1";
    for text in
        ["badge rejected", "the remote refused it", "hook: &lt;no&gt;", "not to exist", "none on the branch", revision]
    {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(!page.contains("http-equiv"), "it has ended");
    assert!(!page.contains("Seen later"), "{page}");
    for (number, on_branch, words) in [(1, false, "does not exist and holds it no longer"), (2, true, "holds it again")]
    {
        let publication_id = publication["id"].as_str().unwrap().parse().unwrap();
        let mut tx = world.app.store().begin_write().await.unwrap();
        let head = on_branch.then(|| "1".repeat(40));
        let seen = PublicationObservation { publication_id, number, seen_at: tx.now(), head, on_branch };
        tx.insert_publication_observation(&seen).await.unwrap();
        tx.commit().await.unwrap();
        let page = world.page(ann, &path).await.text();
        assert!(page.contains(words) && page.matches("Seen later").count() == 1, "{words}: {page}");
    }
    let list = world.page(ann, "/projects/shop/publications").await.text();
    assert!(list.contains(&format!("href=\"{path}\"")), "{list}");
    let baselines = world.page(ann, &revision.replace("&amp;", "&")).await.text();
    assert!(baselines.contains(&format!("consumed by <a href=\"/approvals/{id}\"")), "{baselines}");
    let stranger = world.browser("eve", &[]).await;
    assert_eq!(world.page(&stranger, &path).await.status(), 404);
}
