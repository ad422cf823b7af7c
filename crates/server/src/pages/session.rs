//! Signing in with name and password, proving again who one is, and signing out.

use std::fmt::Write as _;

use axum::{
    Extension,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use pinhole_app::NewSession;
use pinhole_core::{Code, Error, Name, RequestId, Result};
use url::form_urlencoded;

use super::{
    document::{Document, refusal},
    html::esc,
};
use crate::http::{
    Context, Form, address_of, clear_cookie, form_token, local_path, require_own_form, require_this_site,
    session_cookie, session_secret, who,
};

/// `GET /sign-in`
pub(super) async fn sign_in_page(
    State(context): State<Context>,
    Extension(request): Extension<RequestId>,
    parts: Parts,
) -> Response {
    let return_to = Form::of_query(parts.uri.query()).return_to();
    match context.rates.stranger(address_of(&context.settings, &parts.extensions, &parts.headers)) {
        Ok(()) => form(&context, &return_to, None).with_status(StatusCode::OK).into_response(),
        Err(error) => refusal(&error, request).into_response(),
    }
}

/// The sign-in form, in place of the page at `return_to`; it leads on to that page.
pub(super) fn form(context: &Context, return_to: &str, complaint: Option<&str>) -> Document {
    let return_to = local_path(return_to);
    let body = format!(
        "<main class=\"narrow\">\n<h1>Sign in to Pinhole</h1>\n{}{}\
         <form method=\"post\" action=\"/sign-in\">\n\
         <input type=\"hidden\" name=\"return_to\" value=\"{}\">\n\
         <label for=\"name\">Name</label>\n\
         <input id=\"name\" name=\"name\" type=\"text\" autocomplete=\"username\" maxlength=\"100\" required autofocus>\n\
         <label for=\"password\">Password</label>\n\
         <input id=\"password\" name=\"password\" type=\"password\" autocomplete=\"current-password\" required>\n\
         <button>Sign in</button>\n</form>\n</main>",
        self::complaint(complaint),
        provider_button(context, &return_to, false),
        esc(&return_to),
    );
    Document::new("Sign in", body).with_status(StatusCode::UNAUTHORIZED)
}

/// A link and not a form: the policy of the pages keeps forms on this server, also where one is sent on.
fn provider_button(context: &Context, return_to: &str, again: bool) -> String {
    if !context.settings.has_provider() {
        return String::new();
    }
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("return_to", return_to);
    if again {
        query.append_pair("reauthenticate", "true");
    }
    let query = query.finish();
    format!(
        "<p><a class=\"button\" href=\"/api/v1/session/oidc?{}\">Sign in with your organisation</a></p>\n",
        esc(query)
    )
}

/// A sentence on what went wrong before, above a form.
pub(super) fn complaint(text: Option<&str>) -> String {
    text.map(|text| format!("<p class=\"complaint\" role=\"alert\">{}</p>\n", esc(text))).unwrap_or_default()
}

/// The field that every form of a page has which changes something; `token` is what [`form_token`] gives.
pub(super) fn token_field(token: Option<&str>) -> String {
    token
        .map(|token| format!("<input type=\"hidden\" name=\"csrf_token\" value=\"{}\">", esc(token)))
        .unwrap_or_default()
}

/// The fields of a form in which somebody chooses a password.
pub(super) fn new_password_fields(name: &Name) -> String {
    format!(
        "<input type=\"hidden\" name=\"username\" autocomplete=\"username\" value=\"{}\">\n\
         <label for=\"password\">New password, at least 12 characters</label>\n\
         <input id=\"password\" name=\"password\" type=\"password\" autocomplete=\"new-password\" minlength=\"12\" required>\n\
         <label for=\"again\">The same again</label>\n\
         <input id=\"again\" name=\"again\" type=\"password\" autocomplete=\"new-password\" required>\n",
        esc(name)
    )
}

/// The password that was chosen. What says it again may be left out: it is for people, who mistype what they cannot see.
pub(super) fn new_password(form: Form<'_>) -> Result<String> {
    let password = form.required("password")?;
    match form.optional("again")? {
        Some(again) if again != password => Err(Error::invalid("again", "these are two different passwords")),
        _ => Ok(password),
    }
}

/// The line at the top of every page, with the way out for those who have a session; `token` is what [`form_token`]
/// gives, `name` whose session it is, where the page knows it.
pub(super) fn banner(token: Option<&str>, name: Option<&Name>) -> String {
    let mut html = String::from("<header class=\"banner\"><a class=\"home\" href=\"/\"><strong>Pinhole</strong></a>");
    if token.is_some() {
        let account = name.map(|name| format!("<a href=\"/account\">{}</a>", esc(name))).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = write!(
            html,
            "<form method=\"post\" action=\"/sign-out\">{account}{}<button class=\"quiet\">Sign out</button></form>",
            token_field(token)
        );
    }
    html.push_str("</header>\n");
    html
}

/// `POST /sign-in`
pub(super) async fn sign_in(
    State(context): State<Context>,
    Extension(request): Extension<RequestId>,
    parts: Parts,
    body: Bytes,
) -> Response {
    let form = Form::of_body(&body);
    let return_to = form.return_to();
    let signed_in = async {
        require_this_site(&parts.headers)?;
        let address = address_of(&context.settings, &parts.extensions, &parts.headers);
        context.rates.sign_in(address)?;
        let (name, password) = (form.required("name")?, form.required("password")?);
        let (address, previous) = (address.to_string(), session_secret(&parts.headers));
        context.app.sign_in_with_password(&name, &password, &address, previous).await
    };
    match signed_in.await.and_then(|session| go_on(&session, &return_to)) {
        Ok(response) => response,
        Err(error) if error.code() == Code::Unauthenticated => {
            self::form(&context, &return_to, Some("The name or the password is wrong.")).into_response()
        }
        Err(error) => refusal(&error, request).into_response(),
    }
}

/// Gives the browser the secret of a session and sends it on.
pub(super) fn go_on(session: &NewSession, return_to: &str) -> Result<Response> {
    let location = HeaderValue::try_from(return_to).map_err(Error::internal)?;
    let headers = [(header::LOCATION, location), (header::SET_COOKIE, session_cookie(&session.secret)?)];
    Ok((StatusCode::SEE_OTHER, headers).into_response())
}

/// `POST /sign-out`
pub(super) async fn sign_out(
    State(context): State<Context>,
    Extension(request): Extension<RequestId>,
    parts: Parts,
    body: Bytes,
) -> Response {
    let signed_out = async {
        require_own_form(&parts.headers, Form::of_body(&body).optional("csrf_token")?.as_deref())?;
        match who(&context, &parts).await {
            Ok(Some(actor)) => context.app.end_own_session(&actor).await?,
            Ok(None) => {}
            // Who has no session any more is signed out already.
            Err(error) if error.code() == Code::Unauthenticated => {}
            Err(error) => return Err(error),
        }
        clear_cookie()
    };
    match signed_out.await {
        Ok(cookie) => {
            let body = "<main class=\"narrow\">\n<h1>You are signed out</h1>\n\
                        <p><a href=\"/sign-in\">Sign in again</a></p>\n</main>";
            ([(header::SET_COOKIE, cookie)], Document::new("Signed out", body.into())).into_response()
        }
        Err(error) => refusal(&error, request).into_response(),
    }
}

/// `GET /re-authenticate`
pub(super) async fn again_page(
    State(context): State<Context>,
    Extension(request): Extension<RequestId>,
    parts: Parts,
) -> Response {
    let return_to = Form::of_query(parts.uri.query()).return_to();
    match who(&context, &parts).await {
        Ok(Some(_)) => again_form(&context, &parts.headers, &return_to, None).into_response(),
        Ok(None) => form(&context, &return_to, None).into_response(),
        Err(error) if error.code() == Code::Unauthenticated => form(&context, &return_to, None).into_response(),
        Err(error) => refusal(&error, request).into_response(),
    }
}

fn again_form(context: &Context, headers: &HeaderMap, return_to: &str, complaint: Option<&str>) -> Document {
    let token = form_token(headers);
    let body = format!(
        "{}<main class=\"narrow\">\n<h1>Show that it is you</h1>\n\
         <p>What is decided here counts for a quarter of an hour after you have shown who you are.</p>\n{}{}\
         <form method=\"post\" action=\"/re-authenticate\">\n{}\n\
         <input type=\"hidden\" name=\"return_to\" value=\"{}\">\n\
         <label for=\"password\">Password</label>\n\
         <input id=\"password\" name=\"password\" type=\"password\" autocomplete=\"current-password\" required autofocus>\n\
         <button>Go on</button>\n</form>\n</main>",
        banner(token.as_deref(), None),
        self::complaint(complaint),
        provider_button(context, return_to, true),
        token_field(token.as_deref()),
        esc(return_to),
    );
    Document::new("Show that it is you", body)
}

/// `POST /re-authenticate`
pub(super) async fn again(
    State(context): State<Context>,
    Extension(request): Extension<RequestId>,
    parts: Parts,
    body: Bytes,
) -> Response {
    let form = Form::of_body(&body);
    let return_to = form.return_to();
    let proved = async {
        require_own_form(&parts.headers, form.optional("csrf_token")?.as_deref())?;
        let Some(actor) = who(&context, &parts).await? else { return Ok(None) };
        context.rates.sign_in(address_of(&context.settings, &parts.extensions, &parts.headers))?;
        let password = form.required("password")?;
        context.app.reauthenticate_with_password(&actor, &password).await.map(Some)
    };
    match proved.await {
        Ok(Some(session)) => {
            go_on(&session, &return_to).unwrap_or_else(|error| refusal(&error, request).into_response())
        }
        Ok(None) => self::form(&context, &return_to, None).into_response(),
        Err(error) if error.code() == Code::Unauthenticated => {
            let wrong = again_form(&context, &parts.headers, &return_to, Some("The password is wrong."));
            wrong.with_status(StatusCode::UNAUTHORIZED).into_response()
        }
        Err(error) => refusal(&error, request).into_response(),
    }
}
