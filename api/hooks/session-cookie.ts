import type { FastifyRequest } from 'fastify';
import { KnownProblem } from '#domain/errors.ts';

// The cookie of a browser session (docs/decisions/0353-a-browser-has-a-session-and-no-key.md). It has no `Path`, so that
// a browser takes the folder of `/api/sessions` as it sees it: `/api`, also below the path of a proxy.

const cookieName = 'reelwright_session';
const attributes = 'HttpOnly; SameSite=Strict';
const refusal =
  "A session counts for requests of this service's own pages alone: send X-Reelwright-Session: 1, " +
  'or send X-API-Key in place of the cookie.';

/** The secret of the session that a request without an API key has; null for none. */
export function sessionSecretIn({ headers }: FastifyRequest): string | null {
  if (headers['x-api-key'] !== undefined) return null;
  for (const pair of (headers.cookie ?? '').split(';')) {
    const [name, value] = pair.trim().split('=', 2);
    if (name === cookieName) return value ?? '';
  }
  return null;
}

/**
 * Refuses what a page of another origin may have sent: a form can add no header, and a script that adds one asks by a
 * preflight, which the API does not answer. `EventSource` cannot add one either: a GET passes where the browser says
 * itself that it is of the same origin.
 *
 * @throws KnownProblem `forbidden`
 */
export function requireOwnPage({ method, headers, host }: FastifyRequest): void {
  const site = headers['sec-fetch-site'];
  // Where a browser says nothing of the site, its `Origin` tells, by the host: a proxy may end TLS.
  const isForeign = site === undefined ? isOtherHost(headers.origin, host) : site !== 'same-origin';
  const isMarked = headers['x-reelwright-session'] === '1';
  const isReading = method === 'GET' && site === 'same-origin';
  if (isForeign || !(isMarked || isReading)) throw new KnownProblem('forbidden', refusal);
}

function isOtherHost(origin: string | undefined, host: string): boolean {
  if (origin === undefined) return false;
  return !URL.canParse(origin) || new URL(origin).host !== host.toLowerCase();
}

/** `Set-Cookie` of a session that holds for `leftSec` seconds. */
export function sessionCookie(request: FastifyRequest, secret: string, leftSec: number): string {
  return `${cookieName}=${secret}; Max-Age=${leftSec}; ${attributes}${secureOf(request)}`;
}

/** `Set-Cookie` that takes the cookie from the browser. */
export function noSessionCookie(request: FastifyRequest): string {
  return `${cookieName}=; Max-Age=0; ${attributes}${secureOf(request)}`;
}

/**
 * Chromium and Firefox keep a `Secure` cookie of `http://localhost`, Safari does not. So it is left out where plain HTTP
 * goes to the machine itself. Elsewhere a browser keeps no session by plain HTTP.
 */
function secureOf({ protocol, hostname }: FastifyRequest): string {
  const isLoopback = /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
  return protocol === 'http' && isLoopback ? '' : '; Secure';
}
