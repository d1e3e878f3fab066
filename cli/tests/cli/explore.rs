//! `gridlock explore` without a browser: which requests are answered, which are refused, and how it ends. The page itself is
//! tested in `tests/browser`.

use crate::harness::{BUFFERS, Bench, PARTIAL, finish};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command};
use std::time::Duration;

struct Server {
    process: Option<Child>,
    out: BufReader<ChildStdout>,
    host: String,
    secret: String,
}

impl Server {
    fn start(bench: &Bench, arguments: &[&str]) -> Server {
        let mut process = bench.command(&[&["explore"], arguments].concat()).spawn().expect("the binary");
        let mut out = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut url = String::new();
        out.read_line(&mut url).expect("an address");
        let rest = url.trim().strip_prefix("http://").expect("an address");
        let (host, secret) = rest.split_once('/').expect("a path");
        assert!(host.starts_with("127.0.0.1:") && secret.len() > 30, "{url}");
        let secret = secret.trim_end_matches('/').to_owned();
        Server { host: host.to_owned(), secret, process: Some(process), out }
    }

    /// Sends a request as it is and gives the status and all of the answer.
    fn send(&self, request: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.host).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        // It may answer before it has read everything.
        let _ = stream.write_all(request.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
        (status.unwrap_or_else(|| panic!("no answer to {request}: {answer}")), answer)
    }

    fn get(&self, path: &str, headers: &str) -> (u16, String) {
        self.send(&format!("GET {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n"))
    }

    fn post(&self, about: &str, body: &str) -> (u16, String) {
        self.send(&format!(
            "POST /{}/{about} HTTP/1.1\r\nConnection: close\r\nHost: {}\r\nContent-Length: {}\r\n\r\n{body}",
            self.secret,
            self.host,
            body.len()
        ))
    }

    /// Asks a question and returns the body of the answer.
    #[track_caller]
    fn asks(&self, about: &str, body: &str) -> serde_json::Value {
        let (status, answer) = self.post(about, body);
        assert_eq!(status, 200, "{answer}");
        let (_, json) = answer.split_once("\r\n\r\n").expect("a body");
        serde_json::from_str(json).expect("JSON")
    }

    /// Ends it with a signal; the exit code, and what else was on standard output.
    fn end(mut self, signal: &str) -> (Option<i32>, String) {
        let process = self.process.take().expect("a process");
        let sent = Command::new("kill").args([format!("-{signal}"), process.id().to_string()]).status();
        assert!(sent.expect("kill").success());
        let ran = finish(process);
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).expect("a pipe");
        (ran.code, rest)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn bench() -> Bench {
    Bench::new(&[("buffers.mcrl2", BUFFERS), ("partial.mcrl2", PARTIAL)])
}

#[test]
fn others_are_refused() {
    let b = bench();
    let server = Server::start(&b, &["buffers.mcrl2"]);
    let (host, page) = (&server.host, format!("/{}/", server.secret));
    let (status, answer) = server.get(&page, &format!("Host: {host}\r\n"));
    assert_eq!(status, 200, "{answer}");
    let header = "content-security-policy: default-src 'none'; script-src 'self';";
    assert!(answer.contains(header) && answer.contains("<title>gridlock explore"), "{answer}");
    let port = host.split_once(':').expect("a port").1;
    assert_eq!(server.get(&page, &format!("Host: localhost:{port}\r\n")).0, 200);
    for headers in [
        "Host: evil.example\r\n".to_owned(),
        format!("Host: evil.example:{port}\r\n"),
        format!("Host: {host}\r\nOrigin: http://evil.example\r\n"),
        format!("Host: {host}\r\nOrigin: null\r\n"),
        format!("Host: {host}\r\nSec-Fetch-Site: cross-site\r\n"),
    ] {
        for path in [&page, &format!("{page}start"), &format!("{page}script.js")] {
            let (status, answer) = server.get(path, &headers);
            assert_eq!(status, 403, "{headers}: {answer}");
            assert!(!answer.contains("buffers"), "{answer}");
        }
    }
    for path in ["/", "/start", "/0123456789abcdef0123456789abcdef/", "/favicon.ico"] {
        assert_eq!(server.get(path, &format!("Host: {host}\r\n")).0, 403, "{path}");
    }
    let delete = format!("DELETE {page} HTTP/1.1\r\nConnection: close\r\nHost: {host}\r\n\r\n");
    assert_eq!(server.send(&delete).0, 405);
}

/// A run that ends in a cycle is opened with the step from which it repeats, drawn with it and saved with it.
#[test]
fn runs_that_go_round_can_be_walked() {
    let b = Bench::new(&[("two.mcrl2", "act a, b, c; proc P = a . Q; Q = b . c . Q; init P;")]);
    let trace = "gridlock trace 1\nspecification\ttwo.mcrl2\nstep\ta\n\tP\ta\t\nstep\tb\n\tP\tb\t\nstep\tc\n\tP\tc\t\n";
    let server = Server::start(&b, &["two.mcrl2"]);
    let opened = server.asks("trace", &format!("{trace}repeats\t2\nend\t3\n"));
    assert_eq!(
        (opened["repeats_from"].as_u64(), opened["path"].as_array().map(Vec::len)),
        (Some(2), Some(3)),
        "{opened}"
    );
    assert!(opened["note"].as_str().is_some_and(|note| note.contains("repeats from step 2")), "{opened}");
    let place =
        |repeats: &str| format!("{{\"path\":{},\"at\":3,\"repeats_from\":{repeats}}}", opened["path"]);
    let drawn =
        |repeats: &str| server.asks("chart", &place(repeats))["svg"].as_str().unwrap_or_default().to_owned();
    assert!(drawn("2").contains("class=\"back\"") && !drawn("null").contains("class=\"back\""));
    let saved =
        |repeats: &str| server.asks("save", &place(repeats))["text"].as_str().unwrap_or_default().to_owned();
    assert!(saved("2").contains("\nrepeats\t2\n"), "{}", saved("2"));
    // It does not repeat from the first step, nor from one that it does not have.
    assert!(!saved("1").contains("repeats") && !saved("7").contains("repeats"));
    let open = server.asks("trace", &format!("{trace}repeats\t1\nend\t3\n"));
    assert!(
        open["repeats_from"].is_null()
            && open["note"].as_str().is_some_and(|n| n.contains("does not go round")),
        "{open}"
    );
}

#[test]
fn what_makes_no_sense_is_told() {
    let b = bench();
    let server = Server::start(&b, &["buffers.mcrl2"]);
    for (about, body) in [("look", ""), ("look", "{}"), ("look", "[]"), ("look", "{\"path\":[],\"at\":1}")] {
        assert_eq!(server.post(about, body).0, 400, "{body}");
    }
    assert_eq!(server.post("nothing", "").0, 404);
    for (about, body, part) in [
        ("look", "{\"path\":[[4000000000,0]]}", "step 1 is not possible"),
        ("chart", "{\"path\":[[0,99999999]]}", "step 1 is not possible"),
        ("trace", "gridlock trace 1\nend\t5\n", "5 steps announced"),
        ("trace", "{", "EOF"),
    ] {
        let answer = server.asks(about, body);
        assert!(answer["error"].as_str().is_some_and(|e| e.contains(part)), "{about} {body}: {answer}");
    }
    let long: Vec<&str> = vec!["[0,0]"; 10_001];
    let answer = server.asks("look", &format!("{{\"path\":[{}]}}", long.join(",")));
    assert!(answer["error"].as_str().is_some_and(|e| e.contains("at most 10000 steps")), "{answer}");
    let too_long = format!(
        "POST /{}/trace HTTP/1.1\r\nConnection: close\r\nHost: {}\r\nContent-Length: {}\r\n\r\n",
        server.secret,
        server.host,
        20 << 20
    );
    assert_eq!(server.send(&too_long).0, 413);
    // And it is still there.
    assert_eq!(server.asks("look", "{\"path\":[]}")["possible"], 2);
}

#[test]
fn a_trace_is_opened_walked_and_saved() {
    let b = bench();
    b.write("run.txt", "r1(d2)\ntau\ns4(d2)\n");
    let server = Server::start(&b, &["buffers.mcrl2", "--trace", "run.txt"]);
    let start = server.asks("start", "");
    let path = start["trace"]["path"].to_string();
    assert_eq!(start["trace"]["path"].as_array().expect("a list").len(), 3);
    let look = server.asks("look", &format!("{{\"path\":{path},\"at\":1}}"));
    assert_eq!(look["leaves"][0]["values"][0]["value"], "d2", "{look}");
    assert_eq!(look["actions"][0]["unhidden"], "c2(d2)");
    let chart = server.asks("chart", &format!("{{\"path\":{path},\"at\":3}}"));
    assert_eq!(chart["svg"].as_str().expect("a picture").matches("class=\"at\"").count(), 3);
    let saved = server.asks("save", &format!("{{\"path\":{path}}}"));
    b.write("saved.trace", saved["text"].as_str().expect("text"));
    let replayed = b.run(&["replay", "buffers.mcrl2", "saved.trace"]).exits(0);
    assert!(replayed.out.starts_with("runs: 3 steps"), "{}", replayed.out);

    b.write("fault.txt", "a(0)\na(1)\n");
    let server = Server::start(&b, &["partial.mcrl2", "--trace", "fault.txt"]);
    let path = server.asks("start", "")["trace"]["path"].to_string();
    let look = server.asks("look", &format!("{{\"path\":{path},\"at\":2}}"));
    assert_eq!(look["actions"][0]["fault"], true, "{look}");
    let mut further = server.asks("start", "")["trace"]["path"].as_array().expect("a list").clone();
    further.push(look["actions"][0]["move"].clone());
    let further = serde_json::json!({ "path": further }).to_string();
    assert!(server.asks("look", &further)["error"].is_string(), "nobody walks beyond a fault");
}

#[test]
fn it_ends_when_asked() {
    let b = bench();
    for signal in ["INT", "TERM"] {
        let server = Server::start(&b, &["buffers.mcrl2"]);
        assert_eq!(server.asks("look", "{\"path\":[]}")["possible"], 2);
        assert_eq!(
            server.end(signal),
            (Some(0), String::new()),
            "nothing but the address is on standard output"
        );
    }
    let taken = Server::start(&b, &["buffers.mcrl2"]);
    let port = taken.host.split_once(':').expect("a port").1;
    b.run(&["explore", "buffers.mcrl2", "--port", port])
        .exits(2)
        .tells(&["cannot serve on 127.0.0.1:", "--port"]);
    b.run(&["explore", "buffers.mcrl2", "--trace", "none"]).exits(2).tells(&["cannot read none"]);
    b.run(&["explore", "buffers.mcrl2", "--time-limit", "300ms"]).exits(3).tells(&["the time limit"]);
}

/// More clients than there are places ask for the page again and again and never read.
#[test]
fn clients_that_never_read_keep_nobody_out() {
    let bench = Bench::new(&[("buffers.mcrl2", BUFFERS)]);
    let server = Server::start(&bench, &["buffers.mcrl2"]);
    let request = format!("GET /{}/ HTTP/1.1\r\nHost: {}\r\n\r\n", server.secret, server.host);
    let crowd: Vec<TcpStream> = (0..40)
        .map(|_| {
            let mut stream = TcpStream::connect(&server.host).expect("a connection");
            stream.set_nonblocking(true).expect("a socket");
            // Until nothing more is taken.
            for _ in 0..2000 {
                if stream.write(request.as_bytes()).is_err() {
                    break;
                }
            }
            stream
        })
        .collect();
    assert_eq!(server.get(&format!("/{}/", server.secret), &format!("Host: {}\r\n", server.host)).0, 200);
    assert_eq!(server.asks("look", r#"{"path": []}"#)["possible"], 2);
    drop(crowd);
}
