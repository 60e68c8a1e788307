//! `restitch mcp`: serves the tools over MCP.

use std::fs;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::Path;

use super::args::{Common, McpArgs};
use super::exit::Exit;
use super::model;
use super::root::{Root, RootSource};
use super::{settings, signals};
use crate::adapters::mcp::{self, HttpOptions, McpServer, Opener};
use crate::text::register_secret;
use crate::tools::{ToolSet, Toolbox};

/// Serves over stdio, or over HTTP if the flags say so, until the client or a signal ends it.
pub(crate) async fn run(common: &Common, args: McpArgs) -> Result<(), Exit> {
    if args.root_search.root_of.as_deref().is_some_and(Path::has_root) {
        return Err(Exit::usage(
            "--root-of takes a path from each folder that is looked in, such as .mcp.json; to name the root itself, use --root",
        ));
    }
    if args.http.is_some() {
        return http(common, &args).await;
    }
    let root =
        Root::find(common.root.as_deref(), args.root_search.root_of.as_deref(), Path::new("."));
    let toolbox = toolbox(common, &args, &root)?;
    let server = server(&args, toolbox, &root).with_opener(opener(common, &args, root));
    mcp::serve_stdio(server).await.map_err(Exit::fault)
}

/// The MCP server of these tools.
fn server(args: &McpArgs, toolbox: Toolbox, root: &Root) -> McpServer {
    let server = McpServer::new(toolbox).with_opening(root.to_string());
    if args.structured { server.structured() } else { server }
}

/// Serves one root over HTTP, to clients that send the token. Whatever is doubtful about the root, the
/// token or the configuration ends the command before it listens.
async fn http(common: &Common, args: &McpArgs) -> Result<(), Exit> {
    let root =
        Root::find(common.root.as_deref(), args.root_search.root_of.as_deref(), Path::new("."));
    if root.source == RootSource::CurrentFolder && root.folder.parent().is_none() {
        return Err(Exit::usage(format!(
            "the root would be {}, the whole disk, because this process was started there; name the folder to serve with --root",
            root.folder.display()
        )));
    }
    let common = Common { root: Some(root.folder.clone()), ..common.clone() };
    let drain = model::settings_of_server(&common)?.drain_time()?;
    let server = server(args, toolbox(&common, args, &root)?, &root);
    let token = match &args.token_file {
        Some(file) => read_or_create_token(file),
        None => new_token(),
    };
    let token = token.map_err(|error| Exit::usage(format!("no bearer token: {error}")))?;
    register_secret(token.trim());
    let token_to_print = args.token_file.is_none().then(|| token.clone());
    let address = address(args.http.as_deref().unwrap_or_default()).map_err(Exit::usage)?;
    let options = HttpOptions { address, token, drain };
    // After the first signal the server takes no new calls; the second one ends the process.
    let signal = signals::catch_first_signal();
    let stop = async {
        signal.await;
    };
    let served = mcp::serve_http(server, options, stop, move |address| {
        let mut err = io::stderr().lock();
        // A closed stderr does not stop the server.
        let _ = writeln!(err, "listening on http://{address}/mcp");
        if let Some(token) = token_to_print {
            let _ = writeln!(err, "token: {token}");
        }
    });
    served.await.map_err(Exit::fault)
}

/// The tools that the flags ask for, which edit files below `root`.
fn toolbox(common: &Common, args: &McpArgs, root: &Root) -> Result<Toolbox, Exit> {
    let tool_set = ToolSet::parse(&args.tools, common.session.dialect).map_err(Exit::usage)?;
    let common = Common { root: Some(root.folder.clone()), ..common.clone() };
    let toolbox = settings::toolbox(&common)?.with_tool_set(tool_set);
    Ok(match args.guard {
        None => toolbox,
        Some(policy) => toolbox.with_guard(policy),
    })
}

/// Returns a function that opens the tools for the folder that a client names.
fn opener(common: &Common, args: &McpArgs, root: Root) -> Opener {
    let (common, args) = (common.clone(), args.clone());
    Box::new(move |client_folder| {
        let root = root.clone().with_client_root(client_folder, Path::new("."));
        let toolbox = toolbox(&common, &args, &root).ok()?;
        let why_not = root.why_not(client_folder).map_or_else(String::new, |why| format!(" {why}"));
        Some((toolbox, format!("{root}{why_not}")))
    })
}

/// The address to listen at: a loopback address with a port, or a port alone.
fn address(given: &str) -> Result<SocketAddr, String> {
    let with_host =
        if given.contains(':') { given.to_owned() } else { format!("127.0.0.1:{given}") };
    let with_ip = with_host.replace("localhost:", "127.0.0.1:");
    let address: SocketAddr = with_ip.parse().map_err(|_| {
        format!("`{given}` is not an address; use 127.0.0.1:PORT, [::1]:PORT or a port")
    })?;
    if !address.ip().is_loopback() {
        return Err(format!(
            "{address} is not a loopback address; for access from elsewhere, use a TLS proxy"
        ));
    }
    Ok(address)
}

/// A random token of 64 hexadecimal digits.
fn new_token() -> io::Result<String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Refuses a token file that users outside its group can access, or that its group can change. The
/// group may read it.
#[cfg(unix)]
fn require_private(file: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    if fs::metadata(file)?.permissions().mode() & 0o027 == 0 {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        "other users can read or change this file. Run `chmod 600` on it. If another user may have read the token, make a new one",
    ))
}

#[cfg(not(unix))]
fn require_private(_file: &Path) -> io::Result<()> {
    Ok(())
}

/// The token in the file. A missing file is created with a new token, for its owner only.
fn read_or_create_token(file: &Path) -> io::Result<String> {
    let with_path =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", file.display()));
    match fs::read_to_string(file) {
        Ok(token) => {
            require_private(file).map_err(with_path)?;
            Ok(token.trim().to_owned())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let token = new_token()?;
            let mut options = fs::OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut new_file = options.open(file).map_err(with_path)?;
            writeln!(new_file, "{token}").map_err(with_path)?;
            Ok(token)
        }
        Err(error) => Err(with_path(error)),
    }
}
