export * from './index.js'

/** Takes a compiled module, or the bytes of `restitch.wasm`. */
export declare function init(module: WebAssembly.Module | BufferSource): void

/** The same with a URL to fetch the module from, a response, or a promise of a response. */
export declare function initFrom(source: string | URL | Request | Response | Promise<Response>): Promise<void>
