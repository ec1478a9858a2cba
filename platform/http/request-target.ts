import type { IncomingMessage } from 'node:http';

const absoluteForm = /^https?:\/\/(?:[^/?#]*@)?([^/?#@]+)(.*)$/i;

/**
 * Reads a request target in absolute form, `http://media.example.com/stream/…`, as the path and the host that it names,
 * as every server must (RFC 9112, section 3.2.2). Routes see the path alone.
 */
export function readAbsoluteForm(request: Pick<IncomingMessage, 'url' | 'headers'>): void {
  const [, host, path = ''] = absoluteForm.exec(request.url ?? '') ?? [];
  if (host === undefined) return;
  request.url = path.startsWith('/') ? path : `/${path}`;
  request.headers.host = host;
}
