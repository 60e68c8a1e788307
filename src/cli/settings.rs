//! From flags and environment to an engine: the one composition root.

use super::args::Common;
use super::exit::Exit;
use crate::engine::Engine;
use crate::store::DiskStore;
use crate::tools::Toolbox;

/// The tools over the folder that the flags name.
pub(crate) fn toolbox(common: &Common) -> Result<Toolbox, Exit> {
    let store = DiskStore::open(&common.root).map_err(|error| {
        Exit::usage(format!("cannot open the root {}: {error}", common.root.display()))
    })?;
    Ok(Toolbox::new(Engine::builder(store).build()))
}
