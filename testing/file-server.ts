import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as a server of files got it. */
export interface FileRequest {
  readonly path: string;
  readonly range: string | undefined;
  readonly ifRange: string | undefined;
}

export interface FileServer {
  /** `127.0.0.1:PORT`, as `IMPORT_HOSTS` has it. */
  readonly host: string;
  readonly url: string;
  readonly requests: FileRequest[];
  close(): Promise<void>;
}

/** The answer of a path instead of the plain file; true: it has answered. */
export type Answer = (request: IncomingMessage, response: ServerResponse) => boolean;

/** A server that serves one file with an ETag and by ranges at each path, unless `answer` does it. */
export async function startFileServer(
  file: () => { readonly bytes: Buffer; readonly etag: string },
  answer: Answer = () => false,
  address = '127.0.0.1',
): Promise<FileServer> {
  const requests: FileRequest[] = [];
  const server = createServer((request, response) => {
    const { range, 'if-range': ifRange } = request.headers;
    requests.push({ path: request.url ?? '', range, ifRange: typeof ifRange === 'string' ? ifRange : undefined });
    response.on('error', () => undefined);
    if (!answer(request, response)) sendFile(request, response, file());
  });
  server.listen(0, address);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { host: `${address}:${port}`, url: `http://${address}:${port}`, requests, close };
}

interface SentFile {
  readonly bytes: Buffer;
  readonly etag: string;
  /** After so many bytes the connection breaks. */
  readonly cutAt?: number;
  /** After so many bytes nothing more comes. */
  readonly holdAt?: number;
}

/** Answers as a server does that knows ranges. */
export function sendFile(request: IncomingMessage, response: ServerResponse, file: SentFile): void {
  const { bytes, etag, cutAt, holdAt } = file;
  const [, from] = /^bytes=(\d+)-$/.exec(request.headers.range ?? '') ?? [];
  const isRest = from !== undefined && request.headers['if-range'] === etag;
  const start = isRest ? Number(from) : 0;
  response.writeHead(isRest ? 206 : 200, {
    'content-type': 'video/mp4',
    'content-length': bytes.length - start,
    etag,
    ...(isRest ? { 'content-range': `bytes ${start}-${bytes.length - 1}/${bytes.length}` } : {}),
  });
  if (cutAt !== undefined) response.write(bytes.subarray(start, cutAt), () => setTimeout(() => response.destroy(), 50));
  else if (holdAt !== undefined) response.write(bytes.subarray(start, holdAt));
  else response.end(bytes.subarray(start));
}
