import { createHash } from 'node:crypto';
import { extname } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { matchesEtag } from './request-headers.ts';

const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
};

/** Whether files with this name can be served: others are left out of a served folder. */
export function isServable(file: string): boolean {
  return extname(file) in contentTypes;
}

interface StaticFile {
  readonly urls: readonly string[];
  /** Decides the content type by its extension. */
  readonly name: string;
  readonly bytes: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Routes for one file, which is in memory and revalidated by its `ETag`. */
export function addStaticFile(app: FastifyInstance, { urls, name, bytes, headers = {} }: StaticFile): void {
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
  const allHeaders = {
    'content-type': contentTypes[extname(name)] ?? 'application/octet-stream',
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
    ...headers,
    etag,
  };
  for (const url of urls)
    app.get(url, (request, reply) => {
      reply.headers(allHeaders);
      return matchesEtag(request.headers['if-none-match'], etag) ? reply.code(304).send() : reply.send(bytes);
    });
}
