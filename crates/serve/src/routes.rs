//! Routes: the addresses, what each shows, and what each answer is.
//!
//! Owns the addresses. Reads nothing but the journal, through its [`Source`]; no path is ever one
//! of the file system.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use http_body_util::{BodyExt as _, Limited};
use journal::{RunStatus, RunSummary};
use page::Document;
use render::exposition;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::deeds::{Deed, Deeds};
use crate::guard::{Guard, Inline, SecurityHeaders};
use crate::guesses::Guesses;
use crate::list::{Filter, Listed};
use crate::live::Hub;
use crate::options::Options;
use crate::pages::Frame;
use crate::parts::{Fields, Malformed, is_run};
use crate::refusal::{Counts, Refusal};
use crate::source::{Kind, Source, Unavailable};
use crate::stream::Events;
use crate::token::Token;

/// Plot library as its makers ship it, with its licence.
const UPLOT: &str = concat!(
    "/*\n",
    include_str!("../vendor/uplot/LICENSE"),
    "*/\n",
    include_str!("../vendor/uplot/uPlot.iife.min.js")
);
const UPLOT_STYLE: &str = include_str!("../vendor/uplot/uPlot.min.css");
/// Maximum pages made at once: on a machine that measures, no more than one processor's worth.
const AT_ONCE: usize = 2;
/// A form is no larger than this, in octets.
const LARGEST_FORM: usize = 4096;
/// Time limit for a page; after it the page is given up and its turn is another's.
const PAGE: Duration = Duration::from_secs(20);

/// State from which answers are made.
pub(crate) struct App {
    source: Arc<dyn Source>,
    hub: Hub,
    frame: Frame,
    guard: Guard,
    token: Option<Token>,
    guesses: Guesses,
    deeds: Option<Arc<dyn Deeds>>,
    security: SecurityHeaders,
    style: String,
    is_secure: bool,
    counts: Arc<Counts>,
    turns: Semaphore,
    patience: Duration,
}

type Shared = State<Arc<App>>;
type Answer = Result<Response, Problem>;

/// Reason for which there is no page.
struct Problem(StatusCode, &'static str, Unavailable, Option<Refusal>);

impl From<Unavailable> for Problem {
    fn from(problem: Unavailable) -> Self {
        let (status, heading, why) = match problem.kind {
            Kind::Missing => (StatusCode::NOT_FOUND, "Not there", Some(Refusal::Unknown)),
            Kind::Question => {
                (StatusCode::BAD_REQUEST, "Not to be shown", Some(Refusal::Malformed))
            }
            Kind::State => (StatusCode::CONFLICT, "Not now", Some(Refusal::State)),
            Kind::Journal => (StatusCode::INTERNAL_SERVER_ERROR, "The journal", None),
        };
        Self(status, heading, problem, why)
    }
}

impl From<Malformed> for Problem {
    fn from(malformed: Malformed) -> Self {
        Unavailable::new(Kind::Question, malformed.to_string()).into()
    }
}

impl App {
    pub(crate) fn new(source: Arc<dyn Source>, options: Options, counts: Arc<Counts>) -> Self {
        let Options { identity, token, names, deeds, limits, .. } = options;
        let is_secure = identity.is_some();
        // A report of nothing has the style and the script of all.
        let inline = Inline::from_report(&render::html(Document::default(), 0).unwrap_or_default());
        Self {
            hub: Hub::new(Arc::clone(&source)),
            frame: Frame {
                journal: source.name(),
                with_token: token.is_some(),
                with_deeds: deeds.is_some(),
            },
            source,
            guard: Guard::new(&names, deeds.is_some(), is_secure),
            token,
            guesses: Guesses::new(),
            deeds,
            security: SecurityHeaders::new(&inline),
            style: [&inline.style, UPLOT_STYLE, include_str!("../templates/serve.css")].join("\n"),
            is_secure,
            counts,
            turns: Semaphore::new(AT_ONCE),
            patience: limits.request,
        }
    }

    /// Asks the journal on a thread that may wait.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&dyn Source) -> Result<T, Unavailable> + Send + 'static,
    ) -> Result<T, Unavailable> {
        let _turn = self.turns.acquire().await;
        let source = Arc::clone(&self.source);
        // What is read of a journal has bounds of its own: a thread that is left ends by them.
        let asked = tokio::task::spawn_blocking(move || question(&*source));
        let Ok(asked) = timeout(PAGE, asked).await else {
            let said = format!("the page was not made within {} s", PAGE.as_secs());
            return Err(Unavailable::new(Kind::Journal, said));
        };
        asked.unwrap_or_else(|_| {
            let hint = "see what the server's stderr says of it";
            let mut problem = Unavailable::new(Kind::Journal, "the page could not be made");
            problem.hint = Some(hint.to_owned());
            Err(problem)
        })
    }

    fn refuse(&self, problem: &Problem) -> Response {
        let Problem(status, heading, problem, why) = problem;
        if let Some(why) = why {
            self.counts.refuse(*why);
        }
        (*status, html(self.frame.failed(heading, problem))).into_response()
    }
}

/// Returns the routes of all addresses.
pub(crate) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(list))
        .route("/live", get(newest))
        .route("/runs/{run}", get(report))
        .route("/runs/{run}/live", get(live))
        .route("/runs/{run}/events", get(events))
        .route("/runs/{run}/stop", post(stop).fallback(nothing))
        .route("/runs/{run}/resume", post(resume).fallback(nothing))
        .route("/compare", get(compare))
        .route("/metrics", get(metrics))
        .route("/style.css", get(style))
        .route("/script.js", get(async || script(include_str!("../templates/serve.js"))))
        .route("/plots.js", get(async || script(include_str!("../templates/plots.js"))))
        .route("/uplot.js", get(async || script(UPLOT)))
        .route("/login", get(login).post(log_in))
        .route("/logout", post(log_out))
        .fallback(nothing)
        .layer(from_fn_with_state(Arc::clone(&app), gate))
        .with_state(app)
}

/// Checks every request, and adds the security headers to every answer.
async fn gate(State(app): Shared, request: Request, next: Next) -> Response {
    app.counts.request();
    let path = request.uri().path();
    let free = matches!(path, "/login" | "/style.css");
    let headers = request.headers();
    let mut response = match app.guard.check(request.method(), path, headers) {
        Err(why) => app.refuse(&refused(why)),
        Ok(()) if free || is_admitted(&app, headers).await => next.run(request).await,
        Ok(()) => ask_for_token(&app, headers),
    };
    app.security.add_to(response.headers_mut());
    response
}

async fn is_admitted(app: &App, headers: &HeaderMap) -> bool {
    let Some(token) = &app.token else { return true };
    if token.has_session(headers) {
        return true;
    }
    match Token::said_in(headers) {
        Some(said) => app.guesses.is_right(token, said, &app.counts).await,
        None => false,
    }
}

fn refused(why: Refusal) -> Problem {
    let (status, message, hint) = match why {
        Refusal::Host => (
            StatusCode::FORBIDDEN,
            "the request names a host that is not this one's",
            Some("use an address or localhost, or start the server with --name NAME"),
        ),
        Refusal::Origin => {
            (StatusCode::FORBIDDEN, "the request comes from another site's page", None)
        }
        Refusal::Method => (StatusCode::METHOD_NOT_ALLOWED, "this server is read-only", None),
        Refusal::Oversized => (StatusCode::PAYLOAD_TOO_LARGE, "the form is too large", None),
        Refusal::Slow => (StatusCode::REQUEST_TIMEOUT, "the form did not come in time", None),
        _ => (StatusCode::BAD_REQUEST, "the request cannot be read", None),
    };
    let mut problem = Unavailable::new(Kind::Question, message);
    problem.hint = hint.map(str::to_owned);
    Problem(status, "Refused", problem, Some(why))
}

/// Shows a person the login page; tells a program how to send the token.
fn ask_for_token(app: &App, headers: &HeaderMap) -> Response {
    app.counts.refuse(Refusal::Anonymous);
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    if accept.is_some_and(|accept| accept.contains("text/html")) {
        return to("/login");
    }
    let words = "a token is needed: Authorization: Bearer TOKEN\n";
    (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], words).into_response()
}

fn to(address: &str) -> Response {
    (StatusCode::SEE_OTHER, [(header::LOCATION, address.to_owned())]).into_response()
}

fn html(text: String) -> Response {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], text).into_response()
}

fn fields(query: Option<&str>) -> Result<Fields, Malformed> {
    Fields::parse(query.unwrap_or_default())
}

/// The id, where it can be one.
fn run_of(text: &str) -> Result<String, Problem> {
    if is_run(text) {
        Ok(text.to_owned())
    } else {
        Err(Unavailable::new(Kind::Missing, "that is no run's id").into())
    }
}

async fn list(State(app): Shared, RawQuery(query): RawQuery) -> Response {
    let made = async {
        let asked = fields(query.as_deref())?;
        let filter = Filter::from_fields(&asked)?;
        let narrowed = filter.clone();
        let listed = app
            .ask(move |source| {
                let mut listed = Listed::from_listing(source.runs()?, &narrowed);
                source.sum_up(&mut listed.runs)?;
                Ok(listed)
            })
            .await?;
        Ok(html(app.frame.list(&listed, &filter, &asked)))
    };
    let made: Answer = made.await;
    made.unwrap_or_else(|problem| app.refuse(&problem))
}

async fn report(State(app): Shared, Path(run): Path<String>) -> Response {
    let made = async {
        let run = run_of(&run)?;
        Ok(html(app.ask(move |source| source.report(&run)).await?))
    };
    let made: Answer = made.await;
    made.unwrap_or_else(|problem| app.refuse(&problem))
}

/// The run of that id.
async fn find_run(app: &App, run: &str) -> Result<RunSummary, Problem> {
    let run = run_of(run)?;
    let found = app.ask(move |source| {
        let found = source.runs()?.runs.into_iter().find(|known| known.id == run);
        found.ok_or_else(|| Unavailable::new(Kind::Missing, format!("there is no run {run}")))
    });
    Ok(found.await?)
}

async fn live(State(app): Shared, Path(run): Path<String>) -> Response {
    let made = async {
        let run = find_run(&app, &run).await?;
        let deeds = app.deeds.as_ref();
        let possible = deeds.map(|deeds| deeds.possible(&run)).unwrap_or_default();
        let of = run.id.clone();
        let testbed = app.ask(move |source| source.testbed(&of)).await?;
        Ok(html(app.frame.live(&run, &possible, &testbed)))
    };
    let made: Answer = made.await;
    made.unwrap_or_else(|problem| app.refuse(&problem))
}

/// Redirects to the newest run under way; without one, to the list.
async fn newest(State(app): Shared) -> Response {
    match app.ask(Source::runs).await {
        Ok(listing) => {
            let newest = listing.runs.iter().find(|run| run.status == RunStatus::Running);
            to(&newest.map_or_else(|| "/".to_owned(), |run| format!("/runs/{}/live", run.id)))
        }
        Err(problem) => app.refuse(&problem.into()),
    }
}

async fn stop(State(app): Shared, Path(run): Path<String>) -> Response {
    carry_out(&app, Deed::Stop, &run).await
}

async fn resume(State(app): Shared, Path(run): Path<String>) -> Response {
    carry_out(&app, Deed::Resume, &run).await
}

async fn carry_out(app: &App, deed: Deed, run: &str) -> Response {
    let Some(deeds) = &app.deeds else { return app.refuse(&refused(Refusal::Method)) };
    let made = async {
        let run = find_run(app, run).await?.id;
        let (deeds, of) = (Arc::clone(deeds), run.clone());
        app.ask(move |_| deeds.carry_out(deed, &of)).await?;
        Ok(to(&format!("/runs/{run}/live")))
    };
    let made: Answer = made.await;
    made.unwrap_or_else(|problem| app.refuse(&problem))
}

async fn events(State(app): Shared, Path(run): Path<String>) -> Response {
    match find_run(&app, &run).await {
        Ok(run) => {
            let events = Events::new(app.hub.follow(&run.id), Arc::clone(&app.counts));
            let kind = (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
            ([kind], Body::new(events)).into_response()
        }
        Err(problem) => app.refuse(&problem),
    }
}

async fn compare(State(app): Shared, RawQuery(query): RawQuery) -> Response {
    let made = async {
        let asked = fields(query.as_deref())?;
        let mut picked: Vec<&str> = asked.all("run").collect();
        if let [one, other] = picked[..] {
            // If one is missing, the comparison says so.
            let runs = (find_run(&app, one).await, find_run(&app, other).await);
            if let (Ok(one), Ok(other)) = runs {
                let age = |run: &RunSummary| (run.created_unix_ns, run.id.clone());
                if age(&one) > age(&other) {
                    picked.reverse();
                }
            }
        }
        let one = |name, at: usize| asked.get(name).or_else(|| picked.get(at).copied());
        let [reference, subject] = [one("reference", 0), one("subject", 1)];
        let (Some(reference), Some(subject), true) = (reference, subject, picked.len() <= 2) else {
            let said = [reference.unwrap_or_default(), subject.unwrap_or_default()];
            return Ok(html(app.frame.compare(said, None)));
        };
        let (one, other) = (reference.to_owned(), subject.to_owned());
        match app.ask(move |source| source.comparison(&one, &other)).await {
            Ok(page) => Ok(html(page)),
            Err(problem) if problem.kind == Kind::Journal => Err(problem.into()),
            Err(problem) => {
                let page = app.frame.compare([reference, subject], Some(&problem));
                let Problem(status, ..) = problem.into();
                Ok((status, html(page)).into_response())
            }
        }
    };
    let made: Answer = made.await;
    made.unwrap_or_else(|problem| app.refuse(&problem))
}

async fn metrics(State(app): Shared) -> Response {
    let made = async {
        let mut families = app.ask(Source::metrics).await?;
        families.extend(app.counts.families());
        let kind = "text/plain; version=0.0.4; charset=utf-8";
        Ok(([(header::CONTENT_TYPE, kind)], exposition::render(&families)).into_response())
    };
    let made: Answer = made.await;
    made.unwrap_or_else(|problem| app.refuse(&problem))
}

async fn style(State(app): Shared) -> Response {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], app.style.clone()).into_response()
}

fn script(text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], text).into_response()
}

async fn nothing(State(app): Shared) -> Response {
    app.refuse(&Unavailable::new(Kind::Missing, "there is no such page").into())
}

async fn login(State(app): Shared) -> Response {
    if app.token.is_some() { html(Frame::login(false)) } else { to("/") }
}

async fn log_in(State(app): Shared, request: Request) -> Response {
    let Some(token) = &app.token else { return to("/") };
    let body = Limited::new(request.into_body(), LARGEST_FORM).collect();
    let octets = match timeout(app.patience, body).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(_)) => return app.refuse(&refused(Refusal::Oversized)),
        Err(_) => return app.refuse(&refused(Refusal::Slow)),
    };
    let form = std::str::from_utf8(&octets).ok().and_then(|text| Fields::parse(text).ok());
    let said = form.as_ref().and_then(|form| form.get("token")).unwrap_or_default();
    if app.guesses.is_right(token, said, &app.counts).await {
        return ([(header::SET_COOKIE, token.cookie(app.is_secure))], to("/")).into_response();
    }
    (StatusCode::FORBIDDEN, html(Frame::login(true))).into_response()
}

async fn log_out(State(app): Shared) -> Response {
    ([(header::SET_COOKIE, Token::no_cookie(app.is_secure))], to("/login")).into_response()
}
