//! Access control: only the page that was opened by the printed URL may send requests.
//!
//! Any page that the user visits can make the browser send requests to 127.0.0.1. There are four checks, each of which would
//! be enough: the requested host name must be that of this machine (otherwise a foreign name was bound to its address),
//! neither the header `Origin` nor `Sec-Fetch-Site` may name another site, and the path must begin with a secret.

use hyper::HeaderMap;
use hyper::header::{HOST, HeaderName, ORIGIN};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// See the module head.
pub struct Gate {
    /// The names under which the server is known, with the port.
    hosts: Vec<String>,
    secret: String,
}

impl Gate {
    /// A gate for the server at that port of 127.0.0.1.
    pub fn new(port: u16, secret: String) -> Self {
        let mut hosts = vec![format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        if port == 80 {
            hosts.extend(["127.0.0.1", "localhost"].map(str::to_owned));
        }
        Gate { hosts, secret }
    }

    /// The requested path below the secret, or why it is refused.
    pub fn pass<'p>(&self, headers: &HeaderMap, path: &'p str) -> Result<&'p str, &'static str> {
        let text = |name| headers.get_all(name).iter().map(|value| value.to_str().unwrap_or(""));
        let known = |host: &str| self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host));
        let mut hosts = text(HOST);
        if !(hosts.next().is_some_and(known) && hosts.next().is_none()) {
            return Err("This server is known as 127.0.0.1 and localhost only.");
        }
        if !text(ORIGIN).all(|origin| origin.strip_prefix("http://").is_some_and(known)) {
            return Err("Requests from other pages are refused.");
        }
        if !text(FETCH_SITE).all(|site| matches!(site, "same-origin" | "none")) {
            return Err("Requests from other sites are refused.");
        }
        let refused = "Open the address that gridlock printed, all of it.";
        let (secret, rest) = path.strip_prefix('/').and_then(|p| p.split_once('/')).ok_or(refused)?;
        if same(secret.as_bytes(), self.secret.as_bytes()) { Ok(rest) } else { Err(refused) }
    }
}

/// Whether two texts are equal, in a time that does not reveal where they differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |different, (x, y)| different | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn asked(headers: &[(&'static str, &'static str)], path: &str) -> bool {
        let headers = headers.iter().map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_static(v)));
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, value);
        }
        Gate::new(8080, "secret".to_owned()).pass(&map, path).is_ok()
    }

    #[test]
    fn only_the_page_itself_may_ask() {
        const HERE: (&str, &str) = ("host", "127.0.0.1:8080");
        assert!(asked(&[HERE], "/secret/"));
        assert!(asked(&[("host", "LocalHost:8080"), ("origin", "http://localhost:8080")], "/secret/look"));
        assert!(asked(&[HERE, ("sec-fetch-site", "none")], "/secret/"));
        assert!(asked(&[HERE, ("sec-fetch-site", "same-origin")], "/secret/look"));
        for path in ["", "/", "/secret", "/secreT/", "/secre/", "//", "/other/secret/", "secret/"] {
            assert!(!asked(&[HERE], path), "{path}");
        }
        for wrong in [
            &[][..],
            &[("host", "evil.example")],
            &[("host", "evil.example:8080")],
            &[("host", "127.0.0.1:8081")],
            &[("host", "127.0.0.1")],
            &[HERE, HERE],
            &[HERE, ("origin", "http://evil.example")],
            &[HERE, ("origin", "https://127.0.0.1:8080")],
            &[HERE, ("origin", "http://127.0.0.1:9")],
            &[HERE, ("origin", "null")],
            &[HERE, ("sec-fetch-site", "cross-site")],
            &[HERE, ("sec-fetch-site", "same-site")],
        ] {
            assert!(!asked(wrong, "/secret/"), "{wrong:?}");
        }
    }
}
