//! HTTP on 127.0.0.1: tasks read and write connections, and one loop answers.
//!
//! Everything runs in the thread that called [`serve`], whose stack is large enough for deep specifications. Tasks of
//! connections check each request ([`Gate`]), send the files of the page, and pass questions about the system to the loop
//! that owns it. Invariants: no client can make memory grow without bound: connections, waiting questions, the sizes of
//! headers and bodies and the time to send them are all limited. And no client keeps others out: a client that does not read
//! its answer is cut off, one without the secret gets a single answer, and if all places are taken a new connection takes the
//! place of the oldest one without the secret.

use super::gate::Gate;
use super::impatient::Impatient;
use crate::chart;
use crate::watch::Watch;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

/// Connections at the same time; a further one takes the place of another.
const CONNECTIONS: usize = 32;
/// Questions that wait for an answer.
const WAITING: usize = 8;
/// The longest body: a trace that the user opens in the page.
const BODY: usize = 16 << 20;
/// How long a client may take to send a request, and to take the next piece of an answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often the end of the run is noticed.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

const PAGE: &str = include_str!("assets/page.html");
const SCRIPT: &str = include_str!("assets/script.js");
const STYLE: &str = include_str!("assets/style.css");
const ICON: &str = include_str!("assets/icon.svg");

/// Headers of every answer: the page may load only its own files, and other pages may not embed it.
const HEADERS: [(&str, &str); 5] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
];

/// A question of the page.
pub struct Question {
    /// The last part of the path.
    pub about: String,
    /// What was sent, empty for a GET.
    pub body: Bytes,
}

/// An answer as JSON.
pub enum Reply {
    /// The answer, or a problem that the page shows.
    Json(Vec<u8>),
    /// There is no such question.
    Unknown,
    /// The question cannot be understood.
    Wrong(String),
}

/// A question, and the channel for its answer.
type Asked = (Question, oneshot::Sender<Reply>);

/// Serves until the watch says that the run ends.
pub fn serve(
    listener: std::net::TcpListener,
    gate: Gate,
    watch: &Watch,
    mut answer: impl FnMut(Question) -> Reply,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    runtime.block_on(async {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let (asked, mut questions) = mpsc::channel(WAITING);
        runtime.spawn(accept(listener, Arc::new(gate), asked));
        while watch.stopped().is_none() {
            match timeout(BETWEEN_LOOKS, questions.recv()).await {
                // The client may be gone.
                Ok(Some((question, reply))) => drop(reply.send(answer(question))),
                Ok(None) => return Err(io::Error::other("the server ended")),
                Err(_) => {}
            }
        }
        Ok(())
    })
}

/// A connection that is served.
struct Served {
    task: AbortHandle,
    /// Whether its client has shown the secret.
    known: Arc<AtomicBool>,
}

/// Makes room for one more connection: closes the oldest without the secret, or the oldest of all if every one has it.
fn make_room(served: &mut VecDeque<Served>) {
    served.retain(|connection| !connection.task.is_finished());
    while served.len() >= CONNECTIONS {
        let stranger = served.iter().position(|connection| !connection.known.load(Relaxed));
        if let Some(connection) = served.remove(stranger.unwrap_or(0)) {
            connection.task.abort();
        }
    }
}

async fn accept(listener: TcpListener, gate: Arc<Gate>, asked: mpsc::Sender<Asked>) {
    let mut served = VecDeque::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Such as too many open files: it may pass.
            sleep(BETWEEN_LOOKS).await;
            continue;
        };
        make_room(&mut served);
        let (gate, asked, known) = (gate.clone(), asked.clone(), Arc::new(AtomicBool::new(false)));
        let client = known.clone();
        let task = tokio::spawn(async move {
            let service =
                service_fn(move |request| respond(request, gate.clone(), asked.clone(), client.clone()));
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(PATIENCE)
                .max_buf_size(64 << 10)
                .serve_connection(TokioIo::new(Impatient::new(stream, PATIENCE)), service);
            // A connection that breaks off is the client's business.
            drop(connection.await);
        });
        served.push_back(Served { task: task.abort_handle(), known });
    }
}

async fn respond(
    request: Request<Incoming>,
    gate: Arc<Gate>,
    asked: mpsc::Sender<Asked>,
    known: Arc<AtomicBool>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let about = match gate.pass(request.headers(), &path) {
        Ok(about) => about.to_owned(),
        Err(why) => {
            let mut refused = plain(StatusCode::FORBIDDEN, why);
            refused.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            return Ok(refused);
        }
    };
    known.store(true, Relaxed);
    let asks = match *request.method() {
        Method::GET => false,
        Method::POST => true,
        _ => return Ok(plain(StatusCode::METHOD_NOT_ALLOWED, "Only GET and POST are understood.")),
    };
    if !asks && let Some(file) = file(&about) {
        return Ok(file);
    }
    let too_long = || Ok(plain(StatusCode::PAYLOAD_TOO_LARGE, "This is too long, or was cut off."));
    if request.body().size_hint().lower() > BODY as u64 {
        return too_long();
    }
    let body = if asks {
        let body = Limited::new(request.into_body(), BODY).collect();
        match timeout(PATIENCE, body).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(_)) => return too_long(),
            Err(_) => return Ok(plain(StatusCode::REQUEST_TIMEOUT, "This took too long.")),
        }
    } else {
        Bytes::new()
    };
    let (reply, answer) = oneshot::channel();
    let over = "The server is ending.";
    if asked.send((Question { about, body }, reply)).await.is_err() {
        return Ok(plain(StatusCode::SERVICE_UNAVAILABLE, over));
    }
    Ok(match answer.await {
        Ok(Reply::Json(json)) => response(StatusCode::OK, "application/json", json),
        Ok(Reply::Unknown) => plain(StatusCode::NOT_FOUND, "There is nothing here."),
        Ok(Reply::Wrong(why)) => plain(StatusCode::BAD_REQUEST, why),
        Err(_) => plain(StatusCode::SERVICE_UNAVAILABLE, over),
    })
}

/// The files of the page.
fn file(name: &str) -> Option<Response<Full<Bytes>>> {
    let (kind, text) = match name {
        "" => ("text/html; charset=utf-8", PAGE.to_owned()),
        "script.js" => ("text/javascript; charset=utf-8", SCRIPT.to_owned()),
        "style.css" => ("text/css; charset=utf-8", format!("{}\n{}\n{STYLE}", chart::STYLE, chart::DARK)),
        "icon.svg" => ("image/svg+xml", ICON.to_owned()),
        _ => return None,
    };
    Some(response(StatusCode::OK, kind, text))
}

fn plain(status: StatusCode, text: impl Into<String>) -> Response<Full<Bytes>> {
    response(status, "text/plain; charset=utf-8", text.into() + "\n")
}

fn response(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}
