import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { videoRoot } from '#domain/media/object-keys.ts';
import { signStreamTicket } from '#domain/playback/ticket.ts';
import { secrets } from '../../testing/programs.ts';
import { onStage } from '../../testing/stage/stage.ts';

// Every object that the runner makes of a video, by good and by wrong tickets.

it.skipIf(!inject('postgres'))(
  'C33.1, C33.3: every object of a real media is served by its ticket, refused by any other, and names nothing outside',
  async () => {
    const { service, encrypted: hash } = await onStage('streams of captioned');
    const root = join(service.media, videoRoot(hash));
    const all = await readdir(root, { recursive: true, withFileTypes: true });
    const paths = all
      .filter((entry) => entry.isFile() && /\.(?:m3u8|mpd|m4s|mp4|vtt|jpg|webp)$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
    for (const kind of [/init\.mp4$/, /\.m4s$/, /playlist\.m3u8$/, /captions\.vtt$/, /sheet_1\.jpg$/, /manifest\.mpd$/])
      expect(paths.some((path) => kind.test(path))).toBe(true);
    const exp = Math.floor(Date.now() / 1000) + 600;
    const { playback_generation: generation } = (await (
      await fetch(`${service.url}/api/media/${hash}`, { headers: { 'x-api-key': secrets.API_KEY } })
    ).json()) as { playback_generation: number };
    const sign = (given: object, secret: string = secrets.STREAM_SECRET) =>
      signStreamTicket({ hash, exp, generation, ...given }, secret);
    const good = sign({});
    const wrong = [
      good.replace(/.{43}$/, 'A'.repeat(43)),
      sign({ exp: exp - 700 }),
      sign({ hash: 'captioned-clear' }),
      sign({}, 'a secret of somebody else'),
    ];
    const get = (ticket: string, path: string) => fetch(`${service.url}/s/${ticket}/${hash}/${path}`);
    for (const path of paths) {
      const [signed, open] = [await get(good, path), await fetch(`${service.url}/stream/${hash}/${path}`)];
      const [text, expected] = [await signed.text(), await open.text()];
      expect([path, signed.status, text === expected]).toEqual([path, 200, true]);
      for (const ticket of wrong) expect([path, (await get(ticket, path)).status]).toEqual([path, 403]);
      if (!/\.(?:m3u8|mpd)$/.test(path)) continue;
      const named = [...text.matchAll(/URI="([^"]*)"|^([^#<\s].*)$|(?:media|initialization)="([^"]*)"/gm)].map(
        ([, uri, line, template]) => uri ?? line ?? template ?? '',
      );
      const outside = named.filter((uri) => /^(?:[a-z]+:|\/)/.test(uri));
      expect(outside.filter((uri) => !uri.includes(`/api/key/${hash}`))).toEqual([]);
    }
  },
  240_000,
);
