//! One session of the server: its tools work in the client's folder and keep a record of their
//! own, and its first answer ends with a notice.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::service::{Peer, RequestContext, RoleServer};
use tokio::sync::Mutex as AsyncMutex;

use crate::edit::{EditCode, Refusal, path_of_uri};
use crate::tools::{ToolReply, Toolbox};

/// Makes the tools for a folder that the client names, and a line that tells the model which folder
/// they work in; `None` if the folder cannot be used.
pub(crate) type Opener = Box<dyn Fn(&Path) -> Option<(Toolbox, String)> + Send + Sync>;

/// How long a client may take to say what its roots are.
const ROOTS_GRACE: Duration = Duration::from_secs(3);

/// The tools of one session, made at its first call, and again when its client's root is another.
pub(super) struct SessionTools {
    /// The tools with which the server was started.
    toolbox: Toolbox,
    opener: Option<Arc<Opener>>,
    opening: String,
    session: AsyncMutex<Option<Toolbox>>,
    /// Whether the client may have other roots than when it was asked.
    are_roots_new: AtomicBool,
    /// A line that is appended to the next answer.
    pending_notice: Mutex<Option<String>>,
}

impl fmt::Debug for SessionTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionTools").field("session", &self.session).finish_non_exhaustive()
    }
}

impl SessionTools {
    pub(super) fn new(toolbox: Toolbox) -> Self {
        let shared = toolbox.over(toolbox.engine().shared_session());
        Self::with(shared, None, String::new())
    }

    fn with(toolbox: Toolbox, opener: Option<Arc<Opener>>, opening: String) -> Self {
        Self {
            toolbox,
            opener,
            opening,
            session: AsyncMutex::default(),
            are_roots_new: AtomicBool::new(false),
            pending_notice: Mutex::default(),
        }
    }

    /// The same tools, with a line that is appended to the first answer of each session.
    pub(super) fn with_opening(&self, opening: String) -> Self {
        Self { opening, ..self.for_new_session() }
    }

    /// The same tools; in a session whose client names a folder, those that `opener` makes for it.
    pub(super) fn with_opener(&self, opener: Opener) -> Self {
        Self { opener: Some(Arc::new(opener)), ..self.for_new_session() }
    }

    /// The same tools for a new session.
    pub(super) fn for_new_session(&self) -> Self {
        Self::with(self.toolbox.clone(), self.opener.clone(), self.opening.clone())
    }

    /// The tools with which the server was started. Their names are the same in every folder.
    pub(super) fn toolbox(&self) -> &Toolbox {
        &self.toolbox
    }

    /// Whether a request belongs to no session and so shares one record with others, as requests of
    /// the newer lifecycle over HTTP do.
    pub(super) fn is_shared(&self, context: &RequestContext<RoleServer>) -> bool {
        context.peer.peer_info().is_none() && self.opener.is_none()
    }

    /// The tools of the session, which begins with its first call, for a call of `tool`. Refused while
    /// files are staged in a folder that is no longer the client's root, except for `staging`.
    pub(super) async fn session(
        &self,
        context: &RequestContext<RoleServer>,
        tool: Option<&str>,
    ) -> Result<Toolbox, Refusal> {
        if self.is_shared(context) {
            return Ok(self.toolbox.clone());
        }
        let mut session = self.session.lock().await;
        let staged = session.as_ref().map(staged_files).unwrap_or_default();
        let ends_staging = tool == Some("staging") && !staged.is_empty();
        if let Some(toolbox) = &*session
            && (ends_staging || !self.are_roots_new.load(Ordering::Acquire))
        {
            return Ok(toolbox.clone());
        }
        self.are_roots_new.store(false, Ordering::Release);
        let opened = match &self.opener {
            Some(opener) => client_root(&context.peer).await.and_then(|root| opener(&root)),
            None => None,
        };
        let (toolbox, opening) = match (opened, &*session) {
            (Some(opened), _) => opened,
            (None, None) => (self.toolbox.session(), self.opening.clone()),
            // Without an answer the session stays where it is.
            (None, Some(same)) => {
                self.ask_for_roots_again();
                return Ok(same.clone());
            }
        };
        let old = session.as_ref().filter(|old| old.engine().root() == toolbox.engine().root());
        if old.is_none() && !staged.is_empty() {
            self.ask_for_roots_again();
            return Err(still_staged(&staged));
        }
        *self.pending_notice.lock().unwrap_or_else(PoisonError::into_inner) = Some(opening);
        // The record of the session goes on where the root has stayed.
        let toolbox = old.cloned().unwrap_or(toolbox);
        Ok(session.insert(toolbox).clone())
    }

    /// Has the next call ask the client for its roots.
    pub(super) fn ask_for_roots_again(&self) {
        self.are_roots_new.store(true, Ordering::Release);
    }

    /// Appends the session's notice to its first answer.
    pub(super) fn append_notice(&self, reply: &mut ToolReply) {
        let line = self.pending_notice.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(line) = line.filter(|line| !line.is_empty()) {
            reply.message.push('\n');
            reply.message.push_str(&line);
        }
    }
}

/// The files that are staged in a session.
fn staged_files(toolbox: &Toolbox) -> Vec<String> {
    let staged = toolbox.engine().staging().map(|staging| staging.staged()).unwrap_or_default();
    staged.iter().map(|(path, _)| path.to_string()).collect()
}

/// The refusal of a call in the client's new root while files are staged in the old one.
fn still_staged(files: &[String]) -> Refusal {
    let files = files.join(", ");
    let why =
        format!("the client has another root now, but edits are staged in the old one: {files}");
    Refusal::new(EditCode::Blocked, why).hint(
        "Send the tool `staging` with action commit or discard first; then send this call again.",
    )
}

/// The folder that the client names as its first root; `None` if it names none in time.
#[expect(deprecated, reason = "current clients still name their roots this way")]
async fn client_root(peer: &Peer<RoleServer>) -> Option<PathBuf> {
    let has_roots = peer.peer_info().is_some_and(|client| client.capabilities.roots.is_some());
    if !has_roots {
        return None;
    }
    let answer = tokio::time::timeout(ROOTS_GRACE, peer.list_roots()).await;
    let roots = answer.ok()?.ok()?.roots;
    let folder = roots.iter().find_map(|root| path_of_uri(&root.uri));
    // What is not a URI may be a path; if it is none, the opening says so.
    folder.or_else(|| roots.first().map(|root| root.uri.clone())).map(PathBuf::from)
}
