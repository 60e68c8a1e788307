//! Builds the engine and the tools from the flags, the environment and the configuration.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::sync::Arc;

use super::UrlRoot;
use super::args::Common;
use super::exit::Exit;
use super::model;
use crate::engine::{Engine, Stage};
use crate::port::FileStore;
use crate::store::{DiskOptions, DiskStore, NO_STATE_FOLDER, state_folder, usable_state_folder};
use crate::syntax::TreeSitter;
use crate::text::redact;
use crate::tools::{Toolbox, Words};

/// The tools, which edit files below the root.
pub(crate) fn toolbox(common: &Common) -> Result<Toolbox, Exit> {
    let settings = model::settings(common)?;
    let store = store(common, &settings.object_store)?;
    let mut engine = Engine::builder(store)
        .allowance(settings.allowance)
        .syntax(TreeSitter::new(), settings.syntax);
    if let Some(corrector) = settings.corrector()? {
        engine = engine.corrector(corrector);
    }
    let mut engine = engine.build();
    if let Ok(client) = std::env::var("RESTITCH_CLIENT")
        && !client.is_empty()
    {
        engine = engine.for_client(&client);
    }
    if let Some(endpoint) = settings.endpoint {
        let notice = format!("restitch: asking {} at {}", endpoint.model, endpoint.base_url);
        engine = engine.with_observer(Arc::new(move |stage, _| {
            if stage == Stage::Ask {
                let _ = writeln!(io::stderr().lock(), "{}", redact(&notice));
            }
        }));
    }
    let engine = if common.session.stage { engine.staged() } else { engine };
    Ok(Toolbox::new(engine).with_dialect(common.session.dialect))
}

/// The same tools for a person: messages are in these words. JSON keeps the names of the arguments.
pub(crate) fn toolbox_in(common: &Common, words: Words) -> Result<Toolbox, Exit> {
    let toolbox = toolbox(common)?.seen_from(common.below_root.clone());
    Ok(if common.json { toolbox } else { toolbox.with_words(words) })
}

/// Opens the store of the root: a folder, or object storage.
pub(crate) fn store(
    common: &Common,
    settings: &BTreeMap<String, String>,
) -> Result<Arc<dyn FileStore>, Exit> {
    if let Some(url) = common.root_url() {
        return open_url(common, url, settings);
    }
    match DiskStore::open_with(common.root(), disk_options(common)) {
        Ok(store) => Ok(Arc::new(store)),
        Err(error) => {
            Err(Exit::usage(format!("cannot open the root {}: {error}", common.root().display())))
        }
    }
}

/// Opens the store of a root that is a URL.
fn open_url(
    common: &Common,
    url: &str,
    settings: &BTreeMap<String, String>,
) -> Result<Arc<dyn FileStore>, Exit> {
    let Some(open) = common.open_url else {
        return Err(Exit::usage(format!(
            "the root {url} is in object storage, which this command does not support; use the command restitch-object-store"
        )));
    };
    let root = UrlRoot {
        url: url.to_owned(),
        settings: settings.clone(),
        allow_protected: common.session.editing.disk.allow_protected.clone(),
        state: usable_state_folder().ok(),
    };
    let opened =
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(open(root)));
    opened.map_err(|why| Exit::fault(format!("cannot open the root {url}: {why}")))
}

/// The options of the store on the disk, from the flags and the environment.
pub(super) fn disk_options(common: &Common) -> DiskOptions {
    let state = state_folder();
    let no_state_reason = state.is_none().then(|| NO_STATE_FOLDER.to_owned());
    DiskOptions {
        state,
        no_state_reason,
        sync_mode: common.session.editing.disk.durability,
        allow_protected: common.session.editing.disk.allow_protected.clone(),
        ..DiskOptions::default()
    }
}
