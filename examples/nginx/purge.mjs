// node purge.mjs: takes the purges of PURGE_HOOK_URL on port 4001 of this machine, and removes what nginx has cached of
// the media. It runs beside nginx, as its user, with CACHE_DIR (the folder of proxy_cache_path) and WEBHOOK_SECRET.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { open, readdir, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';

const { CACHE_DIR: cacheDir, WEBHOOK_SECRET: text, PORT: port = '4001' } = process.env;
const secret = text.startsWith('whsec_') ? Buffer.from(text.slice(6), 'base64') : text;
/** A file of the cache begins with a header of nginx and the line `KEY: …`; keys are shorter than this. */
const headBytes = 4096;

/** By Standard Webhooks: over id, time and the bytes of the body as they came. */
function isGenuine(headers, body) {
  const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signature = '' } = headers;
  const expected = `v1,${createHmac('sha256', secret).update(`${id}.${time}.${body}`).digest('base64')}`;
  const isRecent = Math.abs(Date.now() / 1000 - Number(time)) < 300;
  return (
    isRecent && signature.length === expected.length && timingSafeEqual(Buffer.from(signature), Buffer.from(expected))
  );
}

async function keyOf(file) {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0);
    return /\nKEY: (.*)\n/.exec(buffer.toString('latin1', 0, bytesRead))?.[1] ?? '';
  } finally {
    await handle.close();
  }
}

/** Removes what is cached under a key with the hash as one of its parts. */
async function purge(hash) {
  const entries = await readdir(cacheDir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  let removed = 0;
  for (const file of files) {
    // nginx may have removed it meanwhile.
    const key = await keyOf(file).catch(() => '');
    if (!key.split(/[/?]/).includes(encodeURIComponent(hash))) continue;
    await rm(file, { force: true });
    removed += 1;
  }
  return removed;
}

createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray()).toString();
  if (!isGenuine(request.headers, body)) {
    response.writeHead(403).end();
    return;
  }
  const { event, hash } = JSON.parse(body);
  try {
    if (event === 'media.purge') console.log(`purged ${hash}: ${await purge(hash)} files`);
    response.writeHead(204).end();
  } catch (error) {
    // The service sends it again.
    console.error(error.message);
    response.writeHead(500).end();
  }
}).listen(Number(port), '127.0.0.1');
