// node upload.mjs FILE: sends a file to the source bucket in parts, and prints its `source`. API and API_KEY are set.
import { openAsBlob } from 'node:fs';
import { basename } from 'node:path';

const { API, API_KEY } = process.env;
const path = process.argv[2] ?? 'movie.mp4';

async function post(route, body = {}) {
  const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json' };
  const answer = await fetch(API + route, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
  return await answer.json();
}

const file = await openAsBlob(path);
const upload = await post('/api/uploads', { name: basename(path), size: file.size });
let sent = 0;
for (const { size, url } of upload.parts) {
  const { ok, status } = await fetch(url, { method: 'PUT', body: file.slice(sent, sent + size) });
  if (!ok) throw new Error(`a part was refused: ${status}`);
  sent += size;
  process.stderr.write(`${Math.round((100 * sent) / file.size)} % of ${path}\n`);
}
console.log((await post(`/api/uploads/${upload.upload_id}/complete`)).source);
