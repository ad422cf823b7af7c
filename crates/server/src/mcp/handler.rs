//! Answers MCP requests: lists the tools, calls an operation, and gives its refusal the body that REST gives it.

use axum::http::request::Parts;
use pinhole_app::{App, Reply, ReplyKind};
use pinhole_contract::ErrorBody;
use pinhole_core::{Actor, Error, RequestId, Result};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult, ErrorCode,
        Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
};
use serde_json::Value;

use super::tools::Toolbox;
use crate::http::{invoke, report};

/// Methods that this server has in every revision. A message of such a method that the library takes for one of an unknown method has
/// parameters that do not fit it.
const METHODS: &[&str] = &["server/discover", "tools/list", "tools/call"];

/// The server side of one MCP request.
pub(super) struct Tools {
    app: App,
    toolbox: &'static Toolbox,
}

impl Tools {
    /// Tools that call `app`.
    pub(super) fn new(app: App, toolbox: &'static Toolbox) -> Self {
        Self { app, toolbox }
    }
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("pinhole", env!("CARGO_PKG_VERSION")))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if request.is_some_and(|request| request.cursor.is_some()) {
            return Err(ErrorData::invalid_params("this list has one page and no cursors", None));
        }
        // The list is the same for everybody today; what it may show is still the caller's own affair.
        Ok(ListToolsResult::with_all_items(self.toolbox.tools().to_vec()).with_cache_scope(CacheScope::Private))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let entry = self.toolbox.entry(&request.name);
        let entry = entry.ok_or_else(|| ErrorData::invalid_params("unknown tool", None))?;
        let actor = actor(&context)?;
        let reply = invoke(entry, &self.app, actor, request.arguments.unwrap_or_default()).await;
        Ok(result(reply, actor.request).into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if !METHODS.contains(&request.method.as_str()) {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None));
        }
        let error = misfit(request.params.as_ref());
        let body = ErrorBody::new(&error, actor(&context)?.request);
        Err(ErrorData::invalid_params(error.message().to_owned(), serde_json::to_value(body).ok()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.toolbox.tools().iter().find(|tool| tool.name == name).cloned()
    }
}

/// What is wrong with parameters that do not fit their method.
fn misfit(params: Option<&Value>) -> Error {
    match params.and_then(|params| params.get("arguments")) {
        Some(arguments) if !arguments.is_object() => Error::invalid("arguments", "expected an object"),
        _ => Error::invalid("params", "do not fit the method"),
    }
}

/// The principal that authentication put into the HTTP request.
fn actor(context: &RequestContext<RoleServer>) -> Result<&Actor, ErrorData> {
    let parts = context.extensions.get::<Parts>();
    parts.and_then(|parts| parts.extensions.get()).ok_or_else(|| ErrorData::internal_error("no principal", None))
}

/// An answer as a tool result. What waits for an approval is marked as an error, so that a client that looks at nothing
/// else does not take it for done.
fn result(reply: Result<Reply>, request: RequestId) -> CallToolResult {
    match reply {
        Ok(Reply { body, kind: ReplyKind::Completed | ReplyKind::Created }) => CallToolResult::structured(body),
        Ok(Reply { body, kind: ReplyKind::ApprovalRequired }) => CallToolResult::structured_error(body),
        Err(error) => {
            report(&error, request);
            let body = serde_json::to_value(ErrorBody::new(&error, request)).unwrap_or(Value::Null);
            CallToolResult::structured_error(body)
        }
    }
}

#[cfg(test)]
mod tests {
    use pinhole_core::{Error, Ids, RandomIds};
    use serde_json::json;

    use super::*;

    fn written(reply: Result<Reply>) -> Value {
        let request = RequestId::from_uuid(RandomIds.uuid());
        serde_json::to_value(result(reply, request)).unwrap()
    }

    #[test]
    fn waiting_for_approval_is_not_done() {
        let body = json!({ "outcome": "approval_required", "approval": {} });
        let result = written(Ok(Reply { body: body.clone(), kind: ReplyKind::ApprovalRequired }));
        assert_eq!(result["isError"], true);
        assert_eq!(result["structuredContent"], body);
        let done = written(Ok(Reply { body: json!({ "a": 1 }), kind: ReplyKind::Created }));
        assert_eq!(done["isError"], false);
    }

    #[test]
    fn errors_are_structured_and_the_same_as_text() {
        let result = written(Err(Error::internal("disk on fire")));
        assert_eq!(result["isError"], true);
        assert_eq!(result["structuredContent"]["code"], "internal");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), result["structuredContent"]);
        assert!(!text.contains("fire"));
    }
}
