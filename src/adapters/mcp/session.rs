//! One session of the server: the folder that the client works in, a record of its own, and
//! the line that the first answer ends with.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::service::{Peer, RequestContext, RoleServer};
use tokio::sync::OnceCell;

use super::uri_decode;
use crate::tools::{ToolReply, Toolbox};

/// Opens the tools over a folder that the client names, and says in a line which folder they
/// work in; `None` where that cannot be.
pub type Opener = Box<dyn Fn(&Path) -> Option<(Toolbox, String)> + Send + Sync>;

/// How long a client may take to say what its roots are.
const ROOTS_GRACE: Duration = Duration::from_secs(3);

/// Where the calls of one session get their tools.
pub(super) struct SessionTools {
    /// As the server was started.
    toolbox: Toolbox,
    opener: Option<Arc<Opener>>,
    opening: String,
    session: OnceCell<Toolbox>,
    /// What the next answer ends with.
    pending_notice: Mutex<Option<String>>,
}

impl fmt::Debug for SessionTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionTools").field("session", &self.session).finish_non_exhaustive()
    }
}

impl SessionTools {
    pub(super) fn new(toolbox: Toolbox) -> Self {
        Self {
            toolbox,
            opener: None,
            opening: String::new(),
            session: OnceCell::new(),
            pending_notice: Mutex::default(),
        }
    }

    pub(super) fn with_opening(&self, opening: String) -> Self {
        Self { opening, ..self.for_new_session() }
    }

    pub(super) fn with_opener(&self, opener: Opener) -> Self {
        Self { opener: Some(Arc::new(opener)), ..self.for_new_session() }
    }

    /// The same for another session.
    pub(super) fn for_new_session(&self) -> Self {
        Self {
            opener: self.opener.clone(),
            opening: self.opening.clone(),
            ..Self::new(self.toolbox.clone())
        }
    }

    /// The tools as the server was started: what they are called is the same in every folder.
    pub(super) fn toolbox(&self) -> &Toolbox {
        &self.toolbox
    }

    /// Requests of the newer lifecycle over HTTP have no session: they share one record.
    pub(super) fn is_shared(&self, context: &RequestContext<RoleServer>) -> bool {
        context.peer.peer_info().is_none() && self.opener.is_none()
    }

    /// The tools of the session, which begins with its first call.
    pub(super) async fn session(&self, context: &RequestContext<RoleServer>) -> Toolbox {
        if self.is_shared(context) {
            return self.toolbox.clone();
        }
        let session = self.session.get_or_init(|| async {
            let mut session = (self.toolbox.session(), self.opening.clone());
            if let Some(opener) = &self.opener
                && let Some(root) = client_root(&context.peer).await
                && let Some(opened) = opener(&root)
            {
                session = opened;
            }
            let (toolbox, opening) = session;
            *self.pending_notice.lock().unwrap_or_else(PoisonError::into_inner) = Some(opening);
            toolbox
        });
        session.await.clone()
    }

    /// Ends the first answer with what there is to say about the session.
    pub(super) fn append_notice(&self, reply: &mut ToolReply) {
        let line = self.pending_notice.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(line) = line.filter(|line| !line.is_empty()) {
            reply.message.push('\n');
            reply.message.push_str(&line);
        }
    }
}

/// The folder that the client says it works in: of several, the first.
#[expect(deprecated, reason = "the clients of today still say it this way")]
async fn client_root(peer: &Peer<RoleServer>) -> Option<PathBuf> {
    let has_roots = peer.peer_info().is_some_and(|client| client.capabilities.roots.is_some());
    if !has_roots {
        return None;
    }
    let asked = tokio::time::timeout(ROOTS_GRACE, peer.list_roots()).await;
    let roots = asked.ok()?.ok()?.roots;
    let mut folders = roots.iter().filter_map(|root| root.uri.strip_prefix("file://"));
    folders.next().map(|path| PathBuf::from(uri_decode(path)))
}
