// GET /api/playback-token?hash=movie-1: a playback token for a user who may watch. A route handler of Next, and of
// anything else that answers a `Request` with a `Response` (Remix, Hono, Deno, workers).
import { playbackToken } from '@reelwright/client/server';

/** Your application's own rule; this one lets everybody in who has a session. */
async function mayWatch(request: Request, _hash: string): Promise<boolean> {
  return /(?:^|; )session=/.test(request.headers.get('cookie') ?? '');
}

export async function GET(request: Request): Promise<Response> {
  const hash = new URL(request.url).searchParams.get('hash') ?? '';
  if (hash === '' || !(await mayWatch(request, hash))) return new Response('forbidden', { status: 403 });
  const token = await playbackToken(hash, process.env['KEY_TOKEN_SECRET'] ?? '', { expiresInSec: 600 });
  return new Response(token, { headers: { 'cache-control': 'no-store' } });
}
