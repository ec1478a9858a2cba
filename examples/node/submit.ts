// Uploads a video, has it made into an encrypted stream, and waits:
//   API=https://media.example.com API_KEY=… node submit.ts movie.mp4
import { openAsBlob } from 'node:fs';
import { basename } from 'node:path';
import { Reelwright, ReelwrightError } from '@reelwright/client';

const { API = 'http://localhost:3000', API_KEY = '' } = process.env;
const [path = 'movie.mp4'] = process.argv.slice(2);
const name = basename(path);
const client = new Reelwright({ baseUrl: API, apiKey: API_KEY });
try {
  const { source } = await client.upload(await openAsBlob(path), { name });
  const hash = name.replaceAll(/[^A-Za-z0-9]+/g, '-');
  const job = await client.submit({ type: 'video:full', hash, source, options: { transcode: { encrypt: true } } });
  const { results } = await client.waitFor(job, { onProgress: ({ progress }) => console.log(`${progress} %`) });
  console.log(`${API}/stream/${hash}/master.m3u8, ${results.video_tracks?.length} rungs`);
} catch (error) {
  if (!(error instanceof ReelwrightError)) throw error;
  console.error(`${error.code}: ${error.detail} ${error.advice}`);
  process.exitCode = 1;
}
