//! Signing in with a password, proving it again, changing it, and signing out: over forms and over REST.

use std::time::Duration;

use axum::{body::Body, http::Request};
use pinhole_app::csrf_token;
use pinhole_core::{Ids as _, RandomIds, SessionId, Sha256Digest};
use serde_json::{Value, json};

use crate::world::{Answer, Session, World};

const PASSWORD: &str = "correct horse battery";
const OTHER: &str = "seventeen sparrows";

/// A world in which ada has a password.
async fn world() -> World {
    let world = World::new().await;
    let link = world.app.create_sign_in_link(&"ada".parse().unwrap()).await.unwrap();
    world.app.use_sign_in_link(&link.secret, PASSWORD, "test", None).await.unwrap();
    world
}

async fn form(world: &World, path: &str, cookie: Option<&str>, fields: &[(&str, &str)]) -> Answer {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let request = Request::post(path)
        .header("host", "localhost:8087")
        .header("origin", "http://localhost:8087")
        .header("content-type", "application/x-www-form-urlencoded");
    let request = cookie.into_iter().fold(request, |request, cookie| request.header("cookie", cookie));
    world.send(request.body(Body::from(body)).unwrap()).await
}

async fn call(world: &World, method: &str, path: &str, session: Option<&Session>, body: &Value) -> Answer {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "localhost:8087")
        .header("origin", "http://localhost:8087")
        .header("content-type", "application/json");
    let request = session.into_iter().fold(request, |request, session| {
        request.header("cookie", session.cookie()).header("x-csrf-token", &session.csrf)
    });
    world.send(request.body(Body::from(body.to_string())).unwrap()).await
}

async fn status_of(world: &World, cookie: &str) -> u16 {
    let request = Request::get("/api/v1/me").header("host", "localhost").header("cookie", cookie);
    world.send(request.body(Body::empty()).unwrap()).await.status().as_u16()
}

/// The session that an answer on REST set.
fn session_of(answer: &Answer) -> Session {
    let cookie = answer.header("set-cookie").split(';').next().unwrap();
    let secret = cookie.strip_prefix("__Host-pinhole=").unwrap().to_owned();
    Session { secret, csrf: answer.json()["csrf_token"].as_str().unwrap().to_owned() }
}

#[tokio::test]
async fn a_form_signs_in_and_leads_on() {
    let world = world().await;
    let fields = [("name", "ada"), ("password", PASSWORD), ("return_to", "/runs?project=shop")];
    let answer = form(&world, "/sign-in", None, &fields).await;
    assert_eq!((answer.status().as_u16(), answer.header("location")), (303, "/runs?project=shop"), "{}", answer.text());
    let (cookie, attributes) = answer.header("set-cookie").split_once("; ").unwrap();
    assert_eq!(attributes, "Path=/; Secure; HttpOnly; SameSite=Lax");
    assert!(cookie.starts_with("__Host-pinhole=phn_"));
    assert_eq!(status_of(&world, cookie).await, 200);
    for hostile in ["https://evil.example", "//evil.example", "/\\evil.example", "/a/..//evil.example", "x"] {
        let fields = [("name", "ada"), ("password", PASSWORD), ("return_to", hostile)];
        assert_eq!(form(&world, "/sign-in", None, &fields).await.header("location"), "/", "{hostile}");
    }
}

#[tokio::test]
async fn wrong_names_and_passwords_are_told_alike() {
    let world = world().await;
    let mut answers = Vec::new();
    // `eve` has no password.
    for (name, password) in [("ada", "wrong"), ("nobody", PASSWORD), ("eve", PASSWORD), ("", ""), ("a\u{7}", PASSWORD)]
    {
        let answer =
            call(&world, "POST", "/api/v1/session", None, &json!({ "name": name, "password": password })).await;
        assert_eq!((answer.status().as_u16(), answer.header("set-cookie")), (401, ""), "{name:?}");
        answers.push(answer.error());
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    let page = form(&world, "/sign-in", None, &[("name", "ada"), ("password", "wrong")]).await;
    assert_eq!((page.status().as_u16(), page.header("set-cookie")), (401, ""));
    assert!(page.text().contains("role=\"alert\""));
}

#[tokio::test]
async fn other_sites_sign_nobody_in() {
    let world = world().await;
    for headers in
        [&[("origin", "https://evil.example")][..], &[("sec-fetch-site", "cross-site")], &[("origin", "null")]]
    {
        for (path, media_type, body) in [
            ("/sign-in", "application/x-www-form-urlencoded", "name=ada&password=correct+horse+battery".to_owned()),
            ("/api/v1/session", "application/json", json!({ "name": "ada", "password": PASSWORD }).to_string()),
        ] {
            let request = Request::post(path).header("host", "localhost:8087").header("content-type", media_type);
            let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
            let answer = world.send(request.body(Body::from(body)).unwrap()).await;
            assert_eq!((answer.status().as_u16(), answer.header("set-cookie")), (403, ""), "{path} {headers:?}");
        }
    }
}

#[tokio::test]
async fn a_session_begins_anew_and_ends_at_once() {
    let world = world().await;
    // A session that somebody planted in the browser is not the one that goes on.
    let planted = world.sign_in("eve").await;
    let body = json!({ "name": "ada", "password": PASSWORD });
    let request = Request::post("/api/v1/session")
        .header("host", "localhost:8087")
        .header("content-type", "application/json")
        .header("cookie", planted.cookie());
    let answer = world.send(request.body(Body::from(body.to_string())).unwrap()).await;
    assert_eq!(answer.status(), 201, "{}", answer.text());
    assert_eq!(answer.json()["user"]["name"], "ada");
    let session = session_of(&answer);
    assert_ne!(session.secret, planted.secret);
    assert_eq!(status_of(&world, &planted.cookie()).await, 401);
    let seen = call(&world, "GET", "/api/v1/session", Some(&session), &json!({})).await;
    assert_eq!(seen.json()["csrf_token"], session.csrf.as_str(), "{}", seen.text());
    assert_eq!(call(&world, "DELETE", "/api/v1/session", Some(&session), &json!({})).await.status(), 200);
    assert_eq!(status_of(&world, &session.cookie()).await, 401);
}

#[tokio::test]
async fn signing_out_by_form_needs_the_token_and_ends_the_session() {
    let world = world().await;
    let session = world.sign_in("ada").await;
    for wrong in [&[][..], &[("csrf_token", "")], &[("csrf_token", "00")]] {
        assert_eq!(form(&world, "/sign-out", Some(&session.cookie()), wrong).await.status(), 403);
    }
    assert_eq!(status_of(&world, &session.cookie()).await, 200);
    let out = form(&world, "/sign-out", Some(&session.cookie()), &[("csrf_token", &session.csrf)]).await;
    assert_eq!(out.status(), 200);
    assert!(
        out.header("set-cookie").starts_with("__Host-pinhole=; ") && out.header("set-cookie").contains("Max-Age=0")
    );
    assert_eq!(status_of(&world, &session.cookie()).await, 401);
}

#[tokio::test]
async fn proving_again_gives_the_session_another_secret() {
    let world = world().await;
    let old = world.sign_in("ada").await;
    let path = "/api/v1/session/reauthenticate";
    assert_eq!(call(&world, "POST", path, Some(&old), &json!({ "password": "wrong" })).await.status(), 401);
    let answer = call(&world, "POST", path, Some(&old), &json!({ "password": PASSWORD })).await;
    let new = session_of(&answer);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    assert_eq!((status_of(&world, &old.cookie()).await, status_of(&world, &new.cookie()).await), (401, 200));
    let fields = [("password", PASSWORD), ("csrf_token", &new.csrf), ("return_to", "/runs")];
    let form = form(&world, "/re-authenticate", Some(&new.cookie()), &fields).await;
    assert_eq!((form.status().as_u16(), form.header("location")), (303, "/runs"), "{}", form.text());
    assert_eq!(status_of(&world, &new.cookie()).await, 401);
}

#[tokio::test]
async fn another_password_ends_every_other_session() {
    let world = world().await;
    let (mine, other) = (world.sign_in("ada").await, world.sign_in("ada").await);
    let path = "/api/v1/session/password";
    let change = |current: &str, new: &str| json!({ "current_password": current, "new_password": new });
    assert_eq!(call(&world, "POST", path, Some(&mine), &change(PASSWORD, "too short")).await.status(), 422);
    assert_eq!(call(&world, "POST", path, Some(&mine), &change("wrong", OTHER)).await.status(), 401);
    let answer = call(&world, "POST", path, Some(&mine), &change(PASSWORD, OTHER)).await;
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let renewed = session_of(&answer);
    for (session, status) in [(&mine, 401), (&other, 401), (&renewed, 200)] {
        assert_eq!(status_of(&world, &session.cookie()).await, status);
    }
    for (password, status) in [(PASSWORD, 401), (OTHER, 201)] {
        let body = json!({ "name": "ada", "password": password });
        assert_eq!(call(&world, "POST", "/api/v1/session", None, &body).await.status(), status);
    }
    // A token is no session, whatever its scope.
    let refused = world.post(path, &world.token, &change(OTHER, PASSWORD)).await;
    assert_eq!(refused.json()["details"]["reason"], "session");
}

#[tokio::test]
async fn the_account_page_changes_the_password_and_ends_sessions() {
    let world = world().await;
    let [mine, other, third] = [world.sign_in("ada").await, world.sign_in("ada").await, world.sign_in("ada").await];
    let look = async |session: &Session| {
        let request = Request::get("/account").header("host", "localhost:8087").header("cookie", session.cookie());
        world.send(request.body(Body::empty()).unwrap()).await
    };
    let page = look(&mine).await.text();
    assert!(page.contains("<h1>ada</h1>") && page.contains("action=\"/account/password\""), "{page}");
    // The link that set the password began one too.
    assert_eq!(page.matches("/end\"").count(), 3, "{page}");
    let request = Request::get("/api/v1/me/sessions").header("host", "localhost").header("cookie", third.cookie());
    let sessions = world.send(request.body(Body::empty()).unwrap()).await.json();
    let id = sessions["sessions"].as_array().unwrap().iter().find(|session| session["current"] == true).unwrap();
    let end = format!("/account/sessions/{}/end", id["id"].as_str().unwrap());
    assert_eq!(form(&world, &end, Some(&mine.cookie()), &[]).await.status(), 403);
    let ended = form(&world, &end, Some(&mine.cookie()), &[("csrf_token", &mine.csrf)]).await;
    assert_eq!((ended.status().as_u16(), ended.header("location")), (303, "/account"), "{}", ended.text());
    assert_eq!((status_of(&world, &third.cookie()).await, status_of(&world, &other.cookie()).await), (401, 200));

    let change = async |token: &str, password: &str, again: &str| {
        let fields = [("csrf_token", token), ("password", password), ("again", again)];
        form(&world, "/account/password", Some(&mine.cookie()), &fields).await
    };
    assert_eq!(change("", OTHER, OTHER).await.status(), 403);
    for (password, again) in [("too short", "too short"), (OTHER, PASSWORD)] {
        let told = change(&mine.csrf, password, again).await;
        assert_eq!(told.status(), 422);
        assert!(told.text().contains("role=\"alert\"") && !told.text().contains(password), "{}", told.text());
    }
    assert_eq!(status_of(&world, &mine.cookie()).await, 200);
    let changed = change(&mine.csrf, OTHER, OTHER).await;
    assert_eq!(changed.status(), 303, "{}", changed.text());
    let renewed = changed.header("set-cookie").split(';').next().unwrap();
    for (cookie, status) in [(mine.cookie(), 401), (other.cookie(), 401), (renewed.to_owned(), 200)] {
        assert_eq!(status_of(&world, &cookie).await, status);
    }
    let body = json!({ "name": "ada", "password": OTHER });
    assert_eq!(call(&world, "POST", "/api/v1/session", None, &body).await.status(), 201);
}

#[tokio::test]
async fn a_session_that_is_not_fresh_proves_itself_before_the_password_changes() {
    let world = world().await;
    let fresh = world.sign_in("ada").await;
    let mut tx = world.app.store().begin_write().await.unwrap();
    let fresh = tx.session_by_secret(Sha256Digest::of(fresh.secret.as_bytes())).await.unwrap().unwrap();
    let secret = "phn_an_hour_old".to_owned();
    let secret_sha256 = Sha256Digest::of(secret.as_bytes());
    let reauthenticated_at = tx.now().minus(Duration::from_secs(3600));
    let id = SessionId::from_uuid(RandomIds.uuid());
    tx.insert_session(&pinhole_store::Session { id, secret_sha256, reauthenticated_at, ..fresh }).await.unwrap();
    tx.commit().await.unwrap();
    let stale = Session { csrf: csrf_token(&secret), secret };
    let request = Request::get("/account").header("host", "localhost:8087").header("cookie", stale.cookie());
    let page = world.send(request.body(Body::empty()).unwrap()).await.text();
    let prove = "/re-authenticate?return_to=%2Faccount";
    assert!(page.contains(prove) && !page.contains("/account/password"), "{page}");
    let fields = [("csrf_token", stale.csrf.as_str()), ("password", OTHER)];
    let sent_on = form(&world, "/account/password", Some(&stale.cookie()), &fields).await;
    assert_eq!((sent_on.status().as_u16(), sent_on.header("location")), (303, prove), "{}", sent_on.text());
    let body = json!({ "name": "ada", "password": PASSWORD });
    assert_eq!(call(&world, "POST", "/api/v1/session", None, &body).await.status(), 201);
}

#[tokio::test]
async fn a_link_works_once_and_looking_does_not_count() {
    let world = world().await;
    let link = world.app.create_sign_in_link(&"eve".parse().unwrap()).await.unwrap();
    let path = format!("/sign-in/link/{}", link.secret);
    let look = async || {
        let request = Request::get(&path).header("host", "localhost:8087").body(Body::empty()).unwrap();
        world.send(request).await
    };
    for _ in 0..2 {
        let page = look().await;
        assert_eq!(page.status(), 200);
        assert!(page.text().contains("eve") && !page.text().contains(&link.secret));
    }
    let short = form(&world, &path, None, &[("password", "short")]).await;
    assert_eq!((short.status().as_u16(), short.header("set-cookie")), (422, ""));
    let used = form(&world, &path, None, &[("password", OTHER)]).await;
    assert_eq!(used.status(), 303, "{}", used.text());
    assert_eq!(form(&world, &path, None, &[("password", PASSWORD)]).await.status(), 404);
    assert_eq!(look().await.status(), 404);
    let body = json!({ "name": "eve", "password": OTHER });
    assert_eq!(call(&world, "POST", "/api/v1/session", None, &body).await.status(), 201);
}

#[tokio::test]
async fn an_address_that_tries_too_often_has_to_wait() {
    let world = world().await;
    let body = json!({ "name": "nobody", "password": "x" });
    for _ in 0..10 {
        let answer = call(&world, "POST", "/api/v1/session", None, &body).await;
        assert_eq!(answer.status(), 401);
    }
    let limited = call(&world, "POST", "/api/v1/session", None, &body).await;
    assert_eq!((limited.status().as_u16(), limited.json()["code"].as_str()), (429, Some("limit_exceeded")));
    assert!((1..=6).contains(&limited.header("retry-after").parse::<u32>().unwrap()));
}
