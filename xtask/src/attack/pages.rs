//! `serve` over a folder of journals among which is a crafted one.
//!
//! Owns the requests, over a socket of its own. What must hold: each page is answered or refused
//! within five seconds, the sound journal's run has its page, and nothing is written.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::Outcome;
use super::child::Watched;
use super::ground::Ground;
use super::journals::{Outside, content};
use super::mutate::Dice;

const A_PAGE: Duration = Duration::from_secs(5);

pub fn serve(ground: &Ground, dice: &mut Dice) -> Result<Outcome> {
    let shelf = ground.folder().join("shelf");
    fs::create_dir_all(&shelf)?;
    fs::copy(ground.sound_journal(), shelf.join("sound.db"))?;
    let crafted = ground.crafted().take(ground, dice, "shelf/crafted.db")?;
    let input = content(&crafted);
    let socket = ground.folder().join("shelf.sock");
    let outside = Outside::look(ground)?;
    let mut command = ground.command(&["serve", "--allow-run", "--quiet", "--journal"]);
    command.arg(&shelf).arg("--listen").arg(format!("unix:{}", socket.display()));
    let server = Watched::start(command)?;
    let mut broken = Vec::new();
    let began = Instant::now();
    while UnixStream::connect(&socket).is_err() && began.elapsed() < A_PAGE {
        std::thread::sleep(Duration::from_millis(5));
    }
    for page in pages(&socket, &mut broken) {
        let (answer, took) = get(&socket, "GET", &page)?;
        if took > A_PAGE {
            broken.push(format!("{page} took {took:?}"));
        }
        if !answer.starts_with("HTTP/1.1 ") {
            broken.push(format!("{page} was not answered"));
        }
    }
    let sound = format!("/runs/{}", ground.sound_run());
    if !get(&socket, "GET", &sound)?.0.starts_with("HTTP/1.1 200") {
        broken.push("the sound journal's run has no page".to_owned());
    }
    let end = server.end_within(Duration::ZERO)?;
    broken.extend(outside.compare(ground)?);
    if content(&crafted) != input {
        broken.push("the journal was written".to_owned());
    }
    fs::remove_dir_all(&shelf)?;
    let _ = fs::remove_file(&socket);
    Ok(Outcome { end, broken, input })
}

/// The pages that the list leads to, and those that every server has.
fn pages(socket: &Path, broken: &mut Vec<String>) -> Vec<String> {
    let mut pages = vec!["/".to_owned(), "/metrics".to_owned()];
    match get(socket, "GET", "/") {
        Ok((list, _)) => {
            let links = list.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
            pages.extend(links.filter(|link| link.starts_with("/runs/")).map(str::to_owned));
        }
        Err(error) => broken.push(format!("the list: {error}")),
    }
    pages.dedup();
    pages.truncate(12);
    pages
}

fn get(socket: &Path, method: &str, page: &str) -> Result<(String, Duration)> {
    let began = Instant::now();
    let mut line = UnixStream::connect(socket).context("connect to the server")?;
    line.set_read_timeout(Some(A_PAGE * 2))?;
    write!(line, "{method} {page} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    // A page that does not come is an answer that does not begin.
    let _ = line.read_to_end(&mut answer);
    Ok((String::from_utf8_lossy(&answer).into_owned(), began.elapsed()))
}
