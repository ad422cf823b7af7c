//! A sign-in link: looking at it shows a form, and only the form's password uses it up.

use axum::{
    Extension,
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use pinhole_core::{Code, Name, RequestId};

use super::{
    document::{Document, refusal},
    html::esc,
    session::{complaint, go_on, new_password, new_password_fields},
};
use crate::http::{Context, Form, address_of, require_this_site, session_secret};

/// `GET /sign-in/link/{secret}`
pub(super) async fn page(
    State(context): State<Context>,
    Extension(request): Extension<RequestId>,
    Path(secret): Path<String>,
    parts: axum::http::request::Parts,
) -> Response {
    let limited = context.rates.sign_in(address_of(&context.settings, &parts.extensions, &parts.headers));
    let name = async {
        limited?;
        context.app.look_at_sign_in_link(&secret).await
    };
    match name.await {
        Ok(name) => form(&name, None).into_response(),
        Err(error) => refusal(&error, request).into_response(),
    }
}

/// The form goes to the address that it has: the secret is nowhere in the page.
fn form(name: &Name, wrong: Option<&str>) -> Document {
    let body = format!(
        "<main class=\"narrow\">\n<h1>Choose a password</h1>\n\
         <p>You will sign in as <strong>{name}</strong> with it. This link works once.</p>\n{}\
         <form method=\"post\">\n{}\
         <button>Sign in</button>\n</form>\n</main>",
        complaint(wrong),
        new_password_fields(name),
        name = esc(name),
    );
    Document::new("Choose a password", body)
}

/// `POST /sign-in/link/{secret}`
pub(super) async fn choose(
    State(context): State<Context>,
    Extension(request): Extension<RequestId>,
    Path(secret): Path<String>,
    parts: axum::http::request::Parts,
    body: Bytes,
) -> Response {
    let used = async {
        require_this_site(&parts.headers)?;
        let address = address_of(&context.settings, &parts.extensions, &parts.headers);
        context.rates.sign_in(address)?;
        let password = new_password(Form::of_body(&body))?;
        let (address, previous) = (address.to_string(), session_secret(&parts.headers));
        context.app.use_sign_in_link(&secret, &password, &address, previous).await
    };
    let error = match used.await.and_then(|session| go_on(&session, "/")) {
        Ok(response) => return response,
        Err(error) => error,
    };
    if error.code() == Code::InvalidArguments
        && let Ok(name) = context.app.look_at_sign_in_link(&secret).await
    {
        return form(&name, Some(error.message())).with_error(&error).into_response();
    }
    refusal(&error, request).into_response()
}
