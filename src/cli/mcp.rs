//! `restitch mcp`: the tools as an MCP server.

use std::fs;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::Path;

use super::args::{Common, McpArgs};
use super::exit::Exit;
use super::root::Root;
use super::settings;
use crate::adapters::mcp::{self, HttpOptions, McpServer, Opener};
use crate::session::Policy;
use crate::tools::{Offer, Toolbox};

pub(crate) async fn run(common: &Common, args: McpArgs) -> Exit {
    let root = Root::find(common.root.as_deref(), args.found.root_of.as_deref(), Path::new("."));
    let toolbox = match toolbox(common, &args, &root) {
        Ok(toolbox) => toolbox,
        Err(exit) => return exit,
    };
    let server = McpServer::new(toolbox).telling(root.to_string());
    let server = if args.structured { server.structured() } else { server };
    let token = if args.token_file.is_some() { AccessToken::InFile } else { AccessToken::Shown };
    let served = match &args.http {
        None => mcp::serve_stdio(server.reopened_by(opener(common, &args, root))).await,
        Some(address) => match http_options(address, &args) {
            Ok(options) => serve_http(server, options, token).await,
            Err(message) => return Exit::usage(message),
        },
    };
    match served {
        Ok(()) => Exit::Done,
        Err(message) => Exit::fault(message),
    }
}

/// The tools over `root`, as the flags want them.
fn toolbox(common: &Common, args: &McpArgs, root: &Root) -> Result<Toolbox, Exit> {
    let offer = Offer::parse(&args.tools, settings::dialect(common)?).map_err(Exit::usage)?;
    let common = Common { root: Some(root.folder.clone()), ..common.clone() };
    let toolbox = settings::toolbox(&common)?.offering(offer);
    Ok(match args.guard.as_deref() {
        None => toolbox,
        Some("soft") => toolbox.guarded(Policy::soft()),
        Some(_) => toolbox.guarded(Policy::strict()),
    })
}

/// What opens the folder that a client names.
fn opener(common: &Common, args: &McpArgs, root: Root) -> Opener {
    let (common, args) = (common.clone(), args.clone());
    Box::new(move |named| {
        let root = root.clone().named(named, Path::new("."));
        let toolbox = toolbox(&common, &args, &root).ok()?;
        Some((toolbox, root.to_string()))
    })
}

fn http_options(address: &str, args: &McpArgs) -> Result<HttpOptions, String> {
    let full =
        if address.contains(':') { address.to_owned() } else { format!("127.0.0.1:{address}") };
    let full = full.replace("localhost:", "127.0.0.1:");
    let address: SocketAddr = full.parse().map_err(|_| {
        format!("`{address}` is not an address; use 127.0.0.1:PORT, [::1]:PORT or a port")
    })?;
    if !address.ip().is_loopback() {
        return Err(format!(
            "{address} is not a loopback address; put a proxy with TLS in front for others"
        ));
    }
    let token = match &args.token_file {
        Some(file) => kept_token(file),
        None => new_token(),
    };
    let token = token.map_err(|error| format!("no bearer token: {error}"))?;
    let (hosts, origins) = (args.allow_host.clone(), args.allow_origin.clone());
    Ok(HttpOptions { address, token, hosts, origins })
}

#[derive(Debug, Clone, Copy)]
enum AccessToken {
    Shown,
    InFile,
}

async fn serve_http(
    server: McpServer,
    options: HttpOptions,
    shown: AccessToken,
) -> Result<(), String> {
    let token = options.token.clone();
    mcp::serve_http(server, options, move |address| {
        let mut err = io::stderr().lock();
        // A closed stderr does not stop the server.
        let _ = writeln!(err, "listening on http://{address}/mcp");
        if let AccessToken::Shown = shown {
            let _ = writeln!(err, "token: {token}");
        }
    })
    .await
}

fn new_token() -> io::Result<String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Refuses a token that others can read or replace: then it is no secret.
#[cfg(unix)]
fn private(file: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    if fs::metadata(file)?.permissions().mode() & 0o027 == 0 {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        "others can read or change it; chmod 600 it, and make a new token if others may have seen it",
    ))
}

#[cfg(not(unix))]
fn private(_file: &Path) -> io::Result<()> {
    Ok(())
}

/// The token of the file, which is made for its owner only when it is missing.
fn kept_token(file: &Path) -> io::Result<String> {
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", file.display()));
    match fs::read_to_string(file) {
        Ok(token) => {
            private(file).map_err(named)?;
            Ok(token.trim().to_owned())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let token = new_token()?;
            let mut options = fs::OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut out = options.open(file).map_err(named)?;
            writeln!(out, "{token}").map_err(named)?;
            Ok(token)
        }
        Err(error) => Err(named(error)),
    }
}
