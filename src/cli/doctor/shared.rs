//! Checks the server on which machines share answers.

use tokio::time::timeout;

use super::{Finding, Level};
use crate::adapters::redis::ServerInfo;
use crate::cli::model::ModelSettings;
use crate::cli::shared::SharedCache;

/// The findings of one trial of the server; none if no server is configured.
pub(super) async fn findings(settings: &ModelSettings) -> Vec<Finding> {
    let cache = match settings.shared.cache() {
        Ok(Some(cache)) => cache,
        Ok(None) => return Vec::new(),
        Err(exit) => {
            let next = "Correct this setting in the configuration or the environment.";
            return vec![Finding::problem("shared", Level::Bad, exit.message(), next)];
        }
    };
    // The probe makes a connection and several requests; `cache.time` is the limit of one request.
    let probed = timeout(4 * cache.time, cache.probe()).await;
    let probed = probed.unwrap_or_else(|_| Err("it does not answer in time".into()));
    match probed {
        Ok(info) => findings_of_working_server(&cache, &info),
        Err(reason) => vec![Finding::problem(
            "shared",
            Level::Warning,
            format!("{} cannot be used: {reason}", cache.values.address()),
            next_step(&reason),
        )],
    }
}

/// What to do about a server that cannot be used for this reason.
fn next_step(reason: &str) -> &'static str {
    let reason = reason.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| reason.contains(word));
    if has(&["noauth", "wrongpass", "authentication"]) {
        "Edits go on without it. Give user and password in the URL: redis://USER:PASSWORD@HOST:PORT."
    } else if has(&["noperm"]) {
        "Edits go on without it. The user needs +ping +info +getrange +get +set +del +eval +time and ~restitch:*."
    } else if has(&["oom", "maxmemory"]) {
        "Edits go on without new answers there. Give the server more memory, or set maxmemory-policy to allkeys-lru."
    } else {
        "Edits go on without it. Check that the server runs and that the URL is right."
    }
}

/// The findings about a server that works.
fn findings_of_working_server(cache: &SharedCache, info: &ServerInfo) -> Vec<Finding> {
    let ServerInfo { server, took, max_memory, policy, reads: (hits, misses) } = info;
    let hours = cache.keep.as_secs_f64() / 3600.0;
    let memory = match max_memory {
        0 => "no memory limit".to_owned(),
        bytes => format!("{} MiB, {policy}", bytes >> 20),
    };
    let detail = format!(
        "{server} at {}, {:.1} ms a request, values sealed, kept for {} h{}; {memory}; of the reads of all its clients, {hits} found something and {misses} did not",
        cache.values.address(),
        took.as_secs_f64() * 1000.0,
        (hours * 10.0).round() / 10.0,
        cache.limits(),
    );
    let mut findings = vec![Finding::ok("shared", detail)];
    if *max_memory > 0 && policy == "noeviction" {
        findings.push(Finding::problem(
            "shared",
            Level::Warning,
            "once its memory is full, it stores no new answers (maxmemory-policy noeviction)",
            "Set maxmemory-policy to allkeys-lru, or to volatile-ttl if others keep values there.",
        ));
    }
    if cache.values.is_unencrypted() {
        findings.push(Finding::problem(
            "shared",
            Level::Warning,
            "the connection has no TLS; values are sealed, but the password can be read on the network",
            "Use rediss:// unless the network is your own.",
        ));
    }
    findings
}
