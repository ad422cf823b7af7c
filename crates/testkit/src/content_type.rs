//! The media type of a file by its extension. It must not look into the file.

/// The media type to serve `path` with, from its extension; text is UTF-8. An unknown extension is
/// `application/octet-stream`, which a browser downloads instead of showing.
pub fn content_type(path: &str) -> &'static str {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension.to_ascii_lowercase().as_str() {
        "html" | "htm" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "txt" => "text/plain; charset=utf-8",
        "json" => "application/json",
        "xml" => "application/xml",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "ico" => "image/x-icon",
        "woff" => "font/woff",
        "woff2" => "font/woff2",
        "ttf" => "font/ttf",
        "pdf" => "application/pdf",
        "wasm" => "application/wasm",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_extension_decides() {
        assert_eq!(content_type("/a.css/b.HTML"), "text/html; charset=utf-8");
        assert_eq!(content_type("/app.min.js"), "text/javascript; charset=utf-8");
        assert_eq!(content_type("/README"), "application/octet-stream");
    }
}
