//! A `FileStore` of your own: here one that keeps everything in memory and prints each
//! commit. A store over a database or an editor's buffers looks the same.
//!
//! cargo run --example custom_store

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::path::Path;

use restitch::engine::{CallOptions, Engine};
use restitch::port::{
    BoxFuture, CommitOptions, Committed, FileStore, History, Lister, VerifiedEdit, WorkPath,
};
use restitch::store::MemoryStore;
use restitch::{EditRequest, Refusal};

struct Printing(MemoryStore);

impl FileStore for Printing {
    fn root(&self) -> &Path {
        self.0.root()
    }

    fn load<'a>(&'a self, path: &'a WorkPath) -> BoxFuture<'a, Result<Vec<u8>, Refusal>> {
        self.0.load(path)
    }

    // All or nothing over the batch, each edit checked against the version it was made for.
    fn commit<'a>(
        &'a self,
        batch: Vec<VerifiedEdit>,
        options: CommitOptions,
    ) -> BoxFuture<'a, Result<Vec<Committed>, Refusal>> {
        Box::pin(async move {
            let committed = self.0.commit(batch, options).await?;
            for file in &committed {
                println!("written: {}", file.edit.path());
            }
            Ok(committed)
        })
    }

    fn admit<'a>(&'a self, path: &'a WorkPath) -> BoxFuture<'a, Result<(), Refusal>> {
        self.0.admit(path)
    }

    fn is_folder(&self) -> bool {
        self.0.is_folder()
    }

    fn lister(&self) -> Option<&dyn Lister> {
        self.0.lister()
    }

    fn history(&self) -> Option<&dyn History> {
        self.0.history()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = Printing(MemoryStore::default());
    let path = WorkPath::parse("greeting.txt", store.root())?;
    store.0.put(path.clone(), b"    Hello, world\n".to_vec());
    let engine = Engine::builder(store).build();
    let request = EditRequest::new("Hello, world", "Hello, moon");
    let report = engine.edit_file(&path, &request, &CallOptions::default()).await?;
    println!("{}", report.text());
    Ok(())
}
