//! Signing a browser in with a token, and out again.

use axum::{
    Extension,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use pinhole_core::{Error, RequestId, Result, RunId};
use url::form_urlencoded;

use super::{
    document::{Document, refusal},
    html::esc,
};
use crate::http::{COOKIE, Context, from_this_site, is_token};

/// The sign-in form; it leads on to the run.
pub(super) fn form(run: RunId, complaint: Option<&str>) -> Document {
    let complaint = complaint.map(|text| format!("<p class=\"complaint\" role=\"alert\">{}</p>\n", esc(text)));
    let body = format!(
        "<main class=\"narrow\">\n<h1>Sign in to Pinhole</h1>\n\
         <p>Run <code>{run}</code> is shown to people with a token. \
         One is made on the server with <code>pinhole token create</code>.</p>\n{}\
         <form method=\"post\" action=\"/session\">\n\
         <input type=\"hidden\" name=\"run\" value=\"{run}\">\n\
         <label for=\"token\">Token</label>\n\
         <input id=\"token\" name=\"token\" type=\"password\" autocomplete=\"current-password\" required autofocus>\n\
         <button>Sign in</button>\n</form>\n</main>",
        complaint.unwrap_or_default(),
        run = esc(run),
    );
    Document::new("Sign in", body).with_status(StatusCode::UNAUTHORIZED)
}

/// The line at the top of every page, with the way out.
pub(super) fn banner() -> &'static str {
    "<header class=\"banner\"><strong>Pinhole</strong>\
     <form method=\"post\" action=\"/session/end\"><button class=\"quiet\">Sign out</button></form></header>\n"
}

/// `POST /session`: keeps a valid token in the cookie.
pub(super) async fn begin(
    State(context): State<Context>,
    Extension(request): Extension<RequestId>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    match sign_in(&context, request, &headers, &body).await {
        Ok(response) => response,
        Err(error) => refusal(&error, request).into_response(),
    }
}

async fn sign_in(context: &Context, request: RequestId, headers: &HeaderMap, body: &[u8]) -> Result<Response> {
    same_site_form(headers)?;
    let run: RunId = field(body, "run")?.parse().map_err(|error: Error| error.within("run"))?;
    let token = field(body, "token")?;
    let token = token.trim();
    if !is_token(token) || context.app.authenticate(token, request).await.is_err() {
        return Ok(form(run, Some("That token is not valid here, or not any more.")).into_response());
    }
    let secure = context.settings.public_url.as_ref().is_some_and(|url| url.scheme() == "https");
    let cookie = cookie(token, "", secure)?;
    Ok((StatusCode::SEE_OTHER, [(header::LOCATION, value(&format!("/runs/{run}"))?), (header::SET_COOKIE, cookie)])
        .into_response())
}

/// `POST /session/end`: forgets the token. The token itself stays valid.
pub(super) async fn end(
    State(context): State<Context>,
    Extension(request): Extension<RequestId>,
    headers: HeaderMap,
) -> Response {
    let secure = context.settings.public_url.as_ref().is_some_and(|url| url.scheme() == "https");
    match same_site_form(&headers).and_then(|()| cookie("", "; Max-Age=0", secure)) {
        Ok(cookie) => {
            let body = "<main class=\"narrow\">\n<h1>You are signed out</h1>\n\
                        <p>This browser has forgotten the token.</p>\n</main>";
            ([(header::SET_COOKIE, cookie)], Document::new("Signed out", body.into())).into_response()
        }
        Err(error) => refusal(&error, request).into_response(),
    }
}

fn same_site_form(headers: &HeaderMap) -> Result<()> {
    if from_this_site(headers) {
        return Ok(());
    }
    Err(Error::permission_denied("same_origin").with_message("this form was sent from another site"))
}

fn field(body: &[u8], name: &str) -> Result<String> {
    let mut values =
        form_urlencoded::parse(body).filter(|(given, _)| given == name).map(|(_, value)| value.into_owned());
    let value = values.next().ok_or_else(|| Error::invalid(name, "is missing in the form"))?;
    if values.next().is_some() { Err(Error::invalid(name, "given twice")) } else { Ok(value) }
}

fn cookie(token: &str, more: &str, secure: bool) -> Result<HeaderValue> {
    let secure = if secure { "; Secure" } else { "" };
    value(&format!("{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict{more}{secure}"))
}

fn value(text: &str) -> Result<HeaderValue> {
    HeaderValue::from_str(text).map_err(Error::internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cookie_is_for_this_site_alone() {
        assert_eq!(
            cookie("phu_1", "", true).unwrap(),
            "pinhole_token=phu_1; Path=/; HttpOnly; SameSite=Strict; Secure"
        );
        assert_eq!(
            cookie("", "; Max-Age=0", false).unwrap(),
            "pinhole_token=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"
        );
    }

    #[test]
    fn fields_are_given_once() {
        assert_eq!(field(b"run=a&token=b%2Bc", "token").unwrap(), "b+c");
        assert!(field(b"run=a", "token").is_err());
        assert!(field(b"run=a&run=b", "run").is_err());
    }
}
