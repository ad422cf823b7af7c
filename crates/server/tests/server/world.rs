//! An installation in a temporary directory with one project, its author and a stranger, and requests to its router.

use std::{path::PathBuf, time::Duration};

use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode, response::Parts},
};
use pinhole_app::{App, Settings, csrf_token};
use pinhole_core::{
    ArtifactId, ArtifactKind, ArtifactRef, Blake3Digest, Ids as _, Name, PrincipalClass, RandomIds, Role, Scope,
    Sha256Digest, Slug,
};
use pinhole_runtime::{Config, Installation};
use pinhole_server::{ServerSettings, router};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;

/// Everything that a test needs. The directory goes with it.
pub(crate) struct World {
    pub(crate) app: App,
    pub(crate) router: Router,
    /// Token of somebody with every role in the project `shop`.
    pub(crate) token: String,
    /// Token of somebody without any grant.
    pub(crate) stranger: String,
    directory: TempDir,
}

/// An answer, read whole.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) head: Parts,
    pub(crate) body: Vec<u8>,
}

impl World {
    /// Body limit of the router, in bytes.
    pub(crate) const MAX_BODY: usize = 64 * 1024;

    pub(crate) async fn new() -> Self {
        Self::with(ServerSettings { max_body_bytes: Self::MAX_BODY, ..ServerSettings::default() }).await
    }

    pub(crate) async fn with(settings: ServerSettings) -> Self {
        let directory = TempDir::with_prefix("pinhole-server-").unwrap();
        let config = Config { data_dir: directory.path().join("data"), ..Config::default() };
        let app = Installation::open(&config, Settings::default(), true).await.unwrap().app;
        let token = token_of(&app, "ada", true).await;
        let stranger = token_of(&app, "eve", false).await;
        let router = router(app.clone(), settings);
        let world = Self { app, router, token, stranger, directory };
        let project = json!({ "slug": "shop", "title": "The shop", "idempotency_key": "project" });
        let made = world.post("/api/v1/projects", &world.token, &project).await;
        assert_eq!(made.status(), 201, "{}", made.text());
        for role in [Role::Author, Role::Operator, Role::Owner] {
            let (ada, shop): (Name, Slug) = ("ada".parse().unwrap(), "shop".parse().unwrap());
            world.app.grant(&ada, &shop, None, role).await.unwrap();
        }
        world
    }

    /// Where everything of the installation is.
    pub(crate) fn data_dir(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// Adds an artifact with these bytes beside another one, as if the registrar had found it in the same attempt.
    /// Gives the path of its bytes.
    pub(crate) async fn add_artifact(&self, beside: ArtifactId, kind: ArtifactKind, bytes: &[u8]) -> String {
        let blake3 = Blake3Digest::of(bytes);
        let hex = blake3.hex();
        let (directory, name) = hex.split_at(2);
        let directory = self.data_dir().join("objects/blobs").join(directory);
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join(name), bytes).unwrap();
        let mut tx = self.app.store().begin_write().await.unwrap();
        let mut artifact = tx.artifact(beside).await.unwrap().unwrap();
        let (id, sha256) = (ArtifactId::from_uuid(RandomIds.uuid()), Sha256Digest::of(bytes));
        artifact.reference = ArtifactRef { id, kind, size_bytes: bytes.len().try_into().unwrap(), sha256, blake3 };
        tx.insert_artifact(&artifact).await.unwrap();
        tx.commit().await.unwrap();
        format!("/api/v1/artifacts/{id}/content")
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let answer = self.router.clone().oneshot(request).await.unwrap();
        let (head, body) = answer.into_parts();
        Answer { head, body: axum::body::to_bytes(body, usize::MAX).await.unwrap().into() }
    }

    pub(crate) async fn get(&self, path: &str, token: &str) -> Answer {
        let request = Request::get(path).header("authorization", format!("Bearer {token}"));
        self.send(request.body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn post(&self, path: &str, token: &str, body: &Value) -> Answer {
        self.post_text(path, token, body.to_string()).await
    }

    pub(crate) async fn post_text(&self, path: &str, token: &str, body: String) -> Answer {
        let request = Request::post(path)
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/json");
        self.send(request.body(Body::from(body)).unwrap()).await
    }

    /// A session of the user with this name, whatever their password.
    pub(crate) async fn sign_in(&self, name: &str) -> Session {
        let name: Name = name.parse().unwrap();
        let user = self.app.ensure_principal(PrincipalClass::User, &name, name.as_str() == "ada").await.unwrap();
        let secret = self.app.begin_session(user, "password").await.unwrap().secret;
        let csrf = csrf_token(&secret);
        Session { secret, csrf }
    }

    /// Calls a tool as a client of the revision with `initialize` does.
    pub(crate) async fn tool(&self, token: &str, name: &str, arguments: &Value) -> Value {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": name, "arguments": arguments } });
        let answer = self.mcp(token, "2025-11-25", &call, &[]).await;
        assert_eq!(answer.status(), 200, "{}", answer.text());
        answer.json()["result"].clone()
    }

    /// One JSON-RPC message to `/mcp`.
    pub(crate) async fn mcp(&self, token: &str, version: &str, message: &Value, headers: &[(&str, &str)]) -> Answer {
        let mut request = Request::post("/mcp")
            .header("host", "localhost")
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", version);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(Body::from(message.to_string())).unwrap()).await
    }
}

/// A browser's session.
pub(crate) struct Session {
    pub(crate) secret: String,
    pub(crate) csrf: String,
}

impl Session {
    /// What the browser sends.
    pub(crate) fn cookie(&self) -> String {
        format!("__Host-pinhole={}", self.secret)
    }
}

impl Answer {
    pub(crate) fn status(&self) -> StatusCode {
        self.head.status
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.head.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The members of the error body, without those that differ from call to call or belong to REST alone.
    pub(crate) fn error(&self) -> Value {
        let body = self.json();
        json!({ "code": body["code"], "message": body["message"], "details": body["details"] })
    }
}

async fn token_of(app: &App, name: &str, admin: bool) -> String {
    let name: Name = name.parse().unwrap();
    app.ensure_principal(PrincipalClass::User, &name, admin).await.unwrap();
    app.create_token(&name, &Scope::All, Duration::from_secs(600)).await.unwrap().secret
}
