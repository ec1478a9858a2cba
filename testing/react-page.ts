import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { build } from 'esbuild';
import { onTestFinished } from 'vitest';
import { checkout } from './checkout.ts';

// The React example in an application: a page of another origin than the service's, with a token route of its own.

interface ReactPage {
  /** Address of the service. */
  readonly host: string;
  readonly hash: string;
  /** The answer of the application's token route. */
  readonly tokenFor: (hash: string) => string;
}

/** Serves the page until the test ends; `globalThis.problems` has what the player reports. @returns its address */
export async function serveReactPage({ host, hash, tokenFor }: ReactPage): Promise<string> {
  const bundle = await bundleOf(`
    import { createRoot } from 'react-dom/client';
    import { Player } from './player.jsx';
    globalThis.problems = [];
    const onProblem = (problem) => globalThis.problems.push(problem);
    const { host, hash } = ${JSON.stringify({ host, hash })};
    createRoot(document.body).render(<Player host={host} hash={hash} onProblem={onProblem} />);`);
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://app');
    if (pathname === '/api/playback-token') response.end(tokenFor(searchParams.get('hash') ?? ''));
    else if (pathname === '/app.js') response.writeHead(200, { 'content-type': 'text/javascript' }).end(bundle);
    else response.end('<!doctype html><title>app</title><body></body><script type="module" src="app.js"></script>');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://localhost:${(server.address() as AddressInfo).port}/`;
}

async function bundleOf(contents: string): Promise<Uint8Array> {
  const { outputFiles } = await build({
    stdin: { contents, loader: 'jsx', resolveDir: join(checkout, 'examples/react') },
    bundle: true,
    format: 'esm',
    jsx: 'automatic',
    // As `npm pack` in clients/player makes it.
    alias: { '@reelwright/player': join(checkout, 'web/element.js') },
    define: { 'process.env.NODE_ENV': '"production"' },
    write: false,
  });
  return outputFiles[0]?.contents ?? new Uint8Array();
}
