//! restitch's tools in an rmcp server of your own, beside a tool that is yours.
//!
//! cargo run --example mcp_server

use restitch::adapters::mcp::McpServer;
use restitch::engine::Engine;
use restitch::store::DiskStore;
use restitch::tools::Toolbox;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
    PaginatedRequestParams, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler, ServiceExt as _};

struct Mine {
    editing: McpServer,
}

impl ServerHandler for Mine {
    fn get_info(&self) -> ServerConfig {
        self.editing.get_info()
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut list = self.editing.list_tools(request, context).await?;
        list.tools.push(Tool::new("hello", "Says hello.", serde_json::Map::new()));
        Ok(list)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name == "hello" {
            return Ok(CallToolResult::success(vec![ContentBlock::text("hello")]).into());
        }
        self.editing.call_tool(request, context).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::builder(DiskStore::open(".".as_ref())?).build();
    let server = Mine { editing: McpServer::new(Toolbox::new(engine)) };
    server.serve(rmcp::transport::stdio()).await?.waiting().await?;
    Ok(())
}
