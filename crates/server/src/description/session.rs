//! The routes of a browser's session, which answer with a cookie and are no operations of the table.

use serde_json::{Map, Value, json};

use super::{
    outside::Route,
    responses::{headers, put, reference},
};

const PATH: &str = "/api/v1/session";

/// A member of a body: its name, and whether it has to be there.
type Member = (&'static str, bool);

/// Every route of the session.
pub(super) fn routes() -> Vec<Route> {
    let again = "/api/v1/session/reauthenticate";
    let password = "/api/v1/session/password";
    let mut begin = described("begin_session", "Sign in with a password.", 201, &[("name", true), ("password", true)]);
    begin["security"] = json!([]);
    vec![
        route(PATH, "post", begin),
        route(PATH, "get", described("get_session", "Read who the session is of, and its CSRF token.", 200, &[])),
        route(PATH, "delete", described("end_session", "Sign out.", 200, &[])),
        route(
            again,
            "post",
            described("reauthenticate", "Prove again who one is, for decisions.", 200, &[("password", true)]),
        ),
        route(
            password,
            "post",
            described(
                "change_password",
                "Choose another password.",
                200,
                &[("current_password", false), ("new_password", true)],
            ),
        ),
    ]
}

fn route(path: &'static str, method: &'static str, described: Value) -> Route {
    Route { path, method, described }
}

fn described(name: &str, summary: &str, status: u16, members: &[Member]) -> Value {
    let mut own = headers();
    if name != "get_session" {
        put(&mut own, "Set-Cookie", "The session from now on, or its end.", "string");
    }
    let content = json!({ "application/json": { "schema": { "type": "object" } } });
    let mut responses =
        Map::from_iter([(status.to_string(), json!({ "description": "Done.", "headers": own, "content": content }))]);
    for (status, name) in [
        ("401", "Unauthenticated"),
        ("403", "PermissionDenied"),
        ("404", "NotFound"),
        ("409", "Conflict"),
        ("413", "TooLarge"),
        ("415", "UnsupportedMediaType"),
        ("422", "InvalidArguments"),
        ("429", "LimitExceeded"),
        ("500", "Internal"),
        ("503", "ProviderUnavailable"),
    ] {
        responses.insert(status.to_owned(), reference(name));
    }
    let mut described = json!({
        "operationId": name,
        "summary": summary,
        "tags": ["session"],
        "security": [{ "session": [] }],
        "responses": responses,
    });
    if !members.is_empty() {
        described["requestBody"] = body(members);
    }
    described
}

fn body(members: &[Member]) -> Value {
    let text = |(name, _): &Member| ((*name).to_owned(), json!({ "type": "string" }));
    let required: Vec<_> = members.iter().filter(|(_, required)| *required).map(|(name, _)| *name).collect();
    let schema = json!({
        "type": "object",
        "properties": members.iter().map(text).collect::<Map<_, _>>(),
        "required": required,
        "additionalProperties": false,
    });
    json!({ "required": true, "content": { "application/json": { "schema": schema } } })
}
