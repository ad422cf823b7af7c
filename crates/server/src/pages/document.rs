//! The frame around every page, and its headers.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Response},
};
use pinhole_contract::status_of;
use pinhole_core::{Code, Error, RequestId};

use super::html::esc;
use crate::http::report;

/// Where the style sheet is.
pub(super) const STYLE_PATH: &str = "/assets/page.css";

/// No scripts at all; pictures, style and forms of this server alone.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; img-src 'self'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// A page in the making.
pub(super) struct Document {
    title: String,
    status: StatusCode,
    body: String,
    refresh: bool,
    retry_after: Option<u32>,
}

impl Document {
    /// A page with this title and body; the body is markup, the title is text.
    pub(super) fn new(title: impl Into<String>, body: String) -> Self {
        Self { title: title.into(), status: StatusCode::OK, body, refresh: false, retry_after: None }
    }

    /// Answers with another status than 200.
    pub(super) fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Answers with the status of a refusal that the page tells of.
    pub(super) fn with_error(self, error: &Error) -> Self {
        let status = StatusCode::from_u16(status_of(error)).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { retry_after: error.details().retry_after_s, ..self }.with_status(status)
    }

    /// Makes the browser load the page again every few seconds.
    pub(super) fn refreshing(mut self, refresh: bool) -> Self {
        self.refresh = refresh;
        self
    }
}

impl IntoResponse for Document {
    fn into_response(self) -> Response {
        let Self { title, status, body, refresh, retry_after } = self;
        let refresh = if refresh { "<meta http-equiv=\"refresh\" content=\"5\">\n" } else { "" };
        let html = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n{refresh}\
             <title>{} · Pinhole</title>\n<link rel=\"stylesheet\" href=\"{STYLE_PATH}\">\n</head>\n\
             <body>\n{body}\n</body>\n</html>\n",
            esc(title),
        );
        let headers = [
            (header::CONTENT_SECURITY_POLICY, POLICY),
            // `no-referrer` would make browsers hide the origin of our own forms from us.
            (header::REFERRER_POLICY, HeaderValue::from_static("same-origin")),
            (header::VARY, HeaderValue::from_static("Authorization, Cookie")),
        ];
        let mut response = (status, headers, Html(html)).into_response();
        if status == StatusCode::UNAUTHORIZED {
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"pinhole\""));
        }
        if let Some(seconds) = retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

/// The page for a refusal. It says what every transport says.
pub(super) fn refusal(error: &Error, request: RequestId) -> Document {
    report(error, request);
    let heading = match error.code() {
        Code::NotFound => "There is nothing here that you may see",
        Code::LimitExceeded => "This is too much for now",
        Code::PermissionDenied => "You may not do this",
        Code::Internal => "Something went wrong on our side",
        _ => "This could not be done",
    };
    let body = format!(
        "<main class=\"narrow\">\n<h1>{heading}</h1>\n<p>{}</p>\n<p class=\"faint\">{} · request {}</p>\n</main>",
        esc(error.message()),
        esc(error.code()),
        esc(request),
    );
    Document::new(heading, body).with_error(error)
}
