import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { signStreamTicket } from '#domain/playback/ticket.ts';
import { submitJob, waitForJob } from '../../demo/jobs.ts';
import { sample } from '../../testing/media.ts';
import { secrets } from '../../testing/programs.ts';
import { onStage } from '../../testing/stage/stage.ts';

// A stream that lasts longer than a player loads ahead, on the service of the stage, and how it plays there.

const inputs = '-f lavfi -i testsrc2=s=320x180:r=10:d=90 -f lavfi -i sine=d=90';
const codecs = '-c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac -shortest';

/** Publishes a stream of 90 seconds that plays by tickets alone. */
export async function publishSigned(hash: string, options: { readonly encrypt: boolean }): Promise<void> {
  const { url: baseUrl, source } = await onStage('service');
  await copyFile(await sample('deleted.mp4', `${inputs} ${codecs}`), join(source, `${hash}.mp4`));
  const api = { baseUrl, apiKey: secrets.API_KEY, signal: new AbortController().signal };
  const id = await submitJob({ type: 'video:transcode', hash, source: `${hash}.mp4`, options }, api);
  const { status } = await waitForJob(id, api);
  if (status !== 'completed') throw new Error(`the stream ${hash} is ${status}`);
  await callMedia(hash, { method: 'PATCH', body: JSON.stringify({ playback: 'signed' }) });
}

interface HowItPlays {
  readonly playback_generation: number;
}

export async function callMedia(hash: string, init: RequestInit = {}, below = ''): Promise<HowItPlays> {
  const { url } = await onStage('service');
  const headers = { 'x-api-key': secrets.API_KEY, ...(init.body ? { 'content-type': 'application/json' } : {}) };
  const answer = await fetch(`${url}/api/media/${hash}${below}`, { ...init, headers });
  if (!answer.ok) throw new Error(`${hash}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as HowItPlays;
}

/** Withdraws all tickets so far. */
export const withdrawTickets = (hash: string) => callMedia(hash, { method: 'POST' }, '/playback/withdraw');

/** A ticket of the media's present generation. */
export async function newTicket(hash: string, lifetimeSec = 3600): Promise<string> {
  const { playback_generation: generation } = await callMedia(hash);
  const exp = Math.floor(Date.now() / 1000) + lifetimeSec;
  return signStreamTicket({ hash, generation, exp }, secrets.STREAM_SECRET);
}
