//! From flags and environment to an engine: the one composition root.

use super::args::Common;
use super::exit::Exit;
use super::model;
use crate::engine::Engine;
use crate::store::DiskStore;
use crate::tools::{Dialect, Toolbox};

/// The tools over the folder that the flags name.
pub(crate) fn toolbox(common: &Common) -> Result<Toolbox, Exit> {
    let store = DiskStore::open(&common.root).map_err(|error| {
        Exit::usage(format!("cannot open the root {}: {error}", common.root.display()))
    })?;
    let settings = model::settings(common)?;
    let mut engine = Engine::builder(store).policy(settings.policy).allowance(settings.allowance);
    if let Some(corrector) = settings.corrector()? {
        engine = engine.corrector(corrector);
    }
    Ok(Toolbox::new(engine.build()).speaking(dialect(common)?))
}

fn dialect(common: &Common) -> Result<Dialect, Exit> {
    let Some(name) = &common.dialect else { return Ok(Dialect::default()) };
    Dialect::parse(name).ok_or_else(|| {
        let known: Vec<_> = Dialect::ALL.iter().map(|dialect| dialect.as_str()).collect();
        Exit::usage(format!("there is no dialect `{name}`; use one of: {}", known.join(", ")))
    })
}
