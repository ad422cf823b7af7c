//! Who looks at a page, and what becomes of what they asked for: a page, the sign-in form, or a refusal as a page.

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, StatusCode, request::Parts},
    response::{IntoResponse, Redirect, Response},
};
use pinhole_app::{App, Reply, operations};
use pinhole_core::{Actor, Code, Error, RequestId, Result};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use url::form_urlencoded;

use super::{
    document::{Document, refusal},
    session,
};
use crate::http::{Context, Form, form_token, invoke, require_own_form, who};

/// Somebody who is signed in and asks for a page.
pub(super) struct Visitor {
    context: Context,
    pub(super) actor: Actor,
    request: RequestId,
    headers: HeaderMap,
    /// Path and query of the page.
    here: String,
}

impl FromRequestParts<Context> for Visitor {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, context: &Context) -> Result<Self, Response> {
        let here = parts.uri.path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string);
        let Some(&request) = parts.extensions.get::<RequestId>() else {
            return Err(StatusCode::INTERNAL_SERVER_ERROR.into_response());
        };
        match who(context, parts).await {
            Ok(Some(actor)) => {
                Ok(Self { context: context.clone(), actor, request, headers: parts.headers.clone(), here })
            }
            Ok(None) => Err(session::form(context, &here, None).into_response()),
            Err(error) => Err(refused(context, &here, request, &error)),
        }
    }
}

impl Visitor {
    /// The use cases.
    pub(super) fn app(&self) -> &App {
        &self.context.app
    }

    /// The token for the forms of this page; none for who came without a session and so has no forms.
    pub(super) fn token(&self) -> Option<String> {
        form_token(&self.headers)
    }

    /// A parameter of the page's query.
    pub(super) fn query(&self, name: &str) -> Option<String> {
        let (_, query) = self.here.split_once('?')?;
        form_urlencoded::parse(query.as_bytes()).find(|(given, _)| given == name).map(|(_, value)| value.into_owned())
    }

    /// The page's path and query, with one parameter set to another value.
    pub(super) fn here_with(&self, name: &str, value: &str) -> String {
        let (path, query) = self.here.split_once('?').unwrap_or((&self.here, ""));
        let kept = form_urlencoded::parse(query.as_bytes()).filter(|(given, _)| given != name);
        let mut query = form_urlencoded::Serializer::new(String::new());
        format!("{path}?{}", query.extend_pairs(kept).append_pair(name, value).finish())
    }

    /// Calls an operation that reads and takes its view.
    pub(super) async fn read<T: DeserializeOwned>(&self, operation: &str, input: Value) -> Result<T> {
        serde_json::from_value(self.call(operation, input).await?.body).map_err(Error::internal)
    }

    /// Calls an operation.
    pub(super) async fn call(&self, operation: &str, input: Value) -> Result<Reply> {
        let entry = operations().get(operation).ok_or_else(|| Error::internal(format!("no operation {operation}")))?;
        let input = if let Value::Object(object) = input { object } else { Map::new() };
        invoke(entry, self.app(), &self.actor, input).await
    }

    /// Refuses a form that another site may have made the browser send.
    pub(super) fn require_own_form(&self, form: Form<'_>) -> Result<()> {
        require_own_form(&self.headers, form.optional("csrf_token")?.as_deref())
    }

    /// The page, or what stands in its place.
    pub(super) fn answer(&self, shown: Result<Document>) -> Response {
        match shown {
            Ok(document) => document.into_response(),
            Err(error) => refused(&self.context, &self.here, self.request, &error),
        }
    }

    /// What follows a form: the page at `back`, or why not. Whoever signed in too long ago proves again who they are,
    /// and comes back to the page with the form.
    pub(super) fn go_back(&self, done: Result<()>, back: &str) -> Response {
        match done {
            Ok(()) => Redirect::to(back).into_response(),
            Err(error) if error.reason() == Some("human_authority") && self.token().is_some() => {
                let query = form_urlencoded::Serializer::new(String::new()).append_pair("return_to", back).finish();
                Redirect::to(&format!("/re-authenticate?{query}")).into_response()
            }
            Err(error) => refused(&self.context, back, self.request, &error),
        }
    }
}

fn refused(context: &Context, here: &str, request: RequestId, error: &Error) -> Response {
    if error.code() == Code::Unauthenticated {
        let ended = "Your session has ended, or the token is not valid any more.";
        return session::form(context, here, Some(ended)).into_response();
    }
    refusal(error, request).into_response()
}
