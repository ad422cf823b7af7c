//! A server of fixtures for the protocol's conformance tests: the tools, resources and prompts that they ask for by name,
//! behind the layers, authentication, checks and answers of the real endpoint.
//!
//! Only tests have it. It has no fixture for what the endpoint does not offer: no server asks its client for anything
//! here, sends no notification, and answers with nothing but JSON.

mod offers;
mod tools;

use std::{num::NonZeroU32, time::Duration};

use axum::{Router, body::Body, http::Request};
use pinhole_app::{App, Settings};
use pinhole_core::{PrincipalClass, Scope};
use pinhole_runtime::{Config, Installation};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, GetPromptRequestParams,
        GetPromptResponse, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
        PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
        Tool,
    },
    service::RequestContext,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{io::AsyncReadExt, net::TcpListener};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::{handler::Tools, mounted};
use crate::{RateLimits, ServerSettings, assembled, context, serve};

/// The real handler with other tools, and with resources and prompts, which it has none of.
struct Fixtures(Tools);

impl ServerHandler for Fixtures {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().build();
        let real = self.0.get_info();
        ServerConfig::new(capabilities).with_server_info(real.server_info)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.0.list_tools(request, context).await
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.0.call_tool(request, context).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        self.0.on_custom_request(request, context).await
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.0.get_tool(name)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(offers::resources())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(offers::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        offers::resource(&request.uri).map(Into::into)
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(offers::prompts())
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        offers::prompt(&request.name, &request.arguments.unwrap_or_default()).map(Into::into)
    }
}

/// The whole router over the fixtures, and a token that opens it. The directory has to outlive it.
struct World {
    router: Router,
    token: String,
    _directory: TempDir,
}

impl World {
    async fn new() -> Self {
        let directory = TempDir::with_prefix("pinhole-fixtures-").unwrap();
        let config = Config { data_dir: directory.path().join("data"), ..Config::default() };
        let app = Installation::open(&config, Settings::default(), true).await.unwrap().app;
        let token = token(&app).await;
        let context = context(app, ServerSettings { limits: unlimited(), ..ServerSettings::default() });
        let app = context.app.clone();
        let mcp = mounted(&context, move || Fixtures(Tools::new(app.clone(), tools::toolbox())));
        Self { router: assembled(context, mcp), token, _directory: directory }
    }
}

async fn token(app: &App) -> String {
    let name = "conformance".parse().unwrap();
    app.ensure_principal(PrincipalClass::Service, &name, false).await.unwrap();
    app.create_token(&name, &Scope::All, Duration::from_secs(3600)).await.unwrap().secret
}

/// One client calls as fast as it can.
fn unlimited() -> RateLimits {
    let many = NonZeroU32::MAX;
    RateLimits { principal_per_second: many, principal_burst: many, ..RateLimits::default() }
}

/// Serves the fixtures, and stops. With `PINHOLE_FIXTURES` it prints where, with the token, and stops when its input ends:
/// that is how `cargo xtask conformance --full` starts the server.
#[tokio::test]
async fn fixtures_are_served_until_the_end_of_input() {
    let world = World::new().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
    let serving = tokio::spawn(serve(listener, world.router.clone(), stop.clone()));
    if std::env::var_os("PINHOLE_FIXTURES").is_some() {
        println!("fixtures at http://{address} for {}", world.token);
        tokio::io::stdin().read_to_end(&mut Vec::new()).await.unwrap();
    }
    stop.cancel();
    serving.await.unwrap();
}

#[tokio::test]
async fn a_header_that_contradicts_its_argument_is_refused() {
    let world = World::new().await;
    let call = async |header: Option<&str>, arguments: Value| {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "test_custom_header",
            "arguments": arguments,
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        }});
        let request = Request::post("/mcp")
            .header("host", "localhost")
            .header("authorization", format!("Bearer {}", world.token))
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "tools/call")
            .header("mcp-name", "test_custom_header");
        let request = header.into_iter().fold(request, |request, value| request.header("mcp-param-region", value));
        let answer =
            world.router.clone().oneshot(request.body(Body::from(message.to_string())).unwrap()).await.unwrap();
        let status = answer.status().as_u16();
        let body = axum::body::to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        (status, serde_json::from_slice::<Value>(&body).unwrap())
    };
    let (status, answer) = call(Some("north"), json!({ "region": "north" })).await;
    assert_eq!((status, &answer["result"]["structuredContent"]["text"]), (200, &json!("north")), "{answer}");
    for header in [Some("south"), None] {
        let (status, answer) = call(header, json!({ "region": "north" })).await;
        assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32020)), "{header:?}: {answer}");
    }
    let (status, answer) = call(Some("north"), json!({ "region": "north", "colour": "red" })).await;
    assert_eq!(
        (status, &answer["result"]["structuredContent"]["code"]),
        (200, &json!("invalid_arguments")),
        "{answer}"
    );
}
