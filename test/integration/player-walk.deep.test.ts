import { beforeAll, describe, expect, inject, it } from 'vitest';
import { signStreamTicket } from '#domain/playback/ticket.ts';
import { chromiumPath, keepScreenshot, phone, stateOf, waitForTime } from '../../testing/browser.ts';
import { faultsOf } from '../../testing/console-page.ts';
import { until } from '../../testing/controller-rig.ts';
import { messageOf, tokenFor, visitPlayer, withToken } from '../../testing/player-page.ts';
import { secrets } from '../../testing/programs.ts';
import { onStage } from '../../testing/stage/stage.ts';

// What a viewer may meet on the player page, on a desktop and a phone, in light and dark: axe finds nothing, nothing is
// cut off, and the browser's console has no refusal that the page could have known of.

const desktop = { width: 1440, height: 900 };
const looks = [desktop, phone].flatMap((size) => (['light', 'dark'] as const).map((scheme) => ({ size, scheme })));
const headers = { 'x-api-key': secrets.API_KEY };
const [clear, encrypted] = ['captioned-clear', 'captioned-encrypted'];
const expired = signStreamTicket({ hash: clear, exp: 1_700_000_000 }, secrets.STREAM_SECRET);

interface Place {
  readonly name: string;
  readonly fragment: Record<string, string>;
  /** What is shown when the page is whole. */
  readonly shown: string;
  /** A fault that stays: the browser logs a refusal that only the answer tells; a frame needs no heading. */
  readonly known?: RegExp;
}

const places: readonly Place[] = [
  { name: 'empty', fragment: {}, shown: '#message[data-kind="nothing"]' },
  { name: 'clear', fragment: { hash: clear }, shown: '#play:enabled' },
  { name: 'encrypted', fragment: withToken(encrypted), shown: '#play:enabled' },
  { name: 'without-token', fragment: { hash: encrypted }, shown: '#message[data-kind="key-401"]' },
  {
    name: 'of-another-media',
    fragment: { hash: encrypted, token: tokenFor(clear) },
    shown: '#message[data-kind="key-403"]',
    known: /403/,
  },
  {
    name: 'expired-ticket',
    fragment: { hash: clear, ticket: expired },
    shown: '#message[data-kind="ticket-expired"]',
    known: /403/,
  },
  { name: 'unknown', fragment: { hash: 'no-such-stream' }, shown: '#message[data-kind="stream-404"]', known: /404/ },
  { name: 'deleted', fragment: { hash: 'walk-deleted' }, shown: '#message[data-kind="deleted"]', known: /410/ },
  {
    name: 'clean',
    fragment: {
      ...withToken(encrypted),
      clean: '1',
      t: '0:10',
      title: 'A walk along the river, in the first snow of the year',
    },
    shown: '#play:enabled',
  },
  {
    name: 'clean-deleted',
    fragment: { hash: 'walk-deleted', clean: '1', title: 'A walk along the river' },
    shown: '#message[data-kind="deleted"]',
    known: /410/,
  },
  { name: 'audio', fragment: { hash: 'audio-clear', title: 'An evening of songs' }, shown: '#play:enabled' },
  {
    name: 'embedded',
    fragment: { hash: clear, embedded: '1' },
    shown: '#play:enabled',
    known: /: page-has-heading-one: /,
  },
];

describe.skipIf(chromiumPath === null || !inject('postgres'))(
  'a viewer on the player page',
  { timeout: 120_000 },
  () => {
    let url: string;
    const call = async (method: string, path: string, body?: object) => {
      const json = body && { 'content-type': 'application/json' };
      const init = { method, headers: { ...headers, ...json }, ...(body && { body: JSON.stringify(body) }) };
      return (await (await fetch(url + path, init)).json()) as { status: string; job_id: string };
    };

    beforeAll(async () => {
      ({ url } = (await onStage('streams of captioned')).service);
      await onStage('streams of audio');
      const job = await call('POST', '/api/jobs', {
        type: 'video:transcode',
        hash: 'walk-deleted',
        source: 'clip.mp4',
      });
      await until(
        () => call('GET', `/api/jobs/${job.job_id}`),
        ({ status }) => status === 'completed',
        60_000,
      );
      await call('DELETE', '/api/media/walk-deleted');
      await until(
        async () => (await fetch(`${url}/stream/walk-deleted/master.m3u8`)).status,
        (status) => status === 410,
        60_000,
      );
    });

    it.each(places)('C38.24: the player page is whole: $name', async ({ name, fragment, shown, known }) => {
      const { page, errors, complaints } = await visitPlayer(fragment);
      await page.locator(shown).waitFor();
      await page.evaluate(`document.querySelector('video').pause()`);
      const faults: string[] = [];
      for (const { size, scheme } of looks) {
        await page.setViewportSize(size);
        await page.emulateMedia({ colorScheme: scheme });
        await keepScreenshot(page, `walk-${name}-${size.width}-${scheme}`);
        const { overflow } = await stateOf(page);
        const found = [...(await faultsOf(page)), ...(overflow === 0 ? [] : [`${overflow} pixels too wide`])];
        faults.push(...found.map((fault) => `${size.width} ${scheme}: ${fault}`));
      }
      expect(errors).toEqual([]);
      expect([...complaints, ...faults].filter((fault) => !known?.test(fault))).toEqual([]);
    });

    it('on a clean page without a token the button leads to its field', async () => {
      const { page } = await visitPlayer({ hash: encrypted, clean: '1' }, phone);
      await page.click('#enter-token');
      await keepScreenshot(page, 'walk-clean-without-token-390');
      await page.keyboard.type(tokenFor(encrypted));
      await page.keyboard.press('Enter');
      await waitForTime(page, 0.3);
    });

    it('a link that is opened before its stream is made says so, and another try plays it', async () => {
      const body = { type: 'video:transcode', hash: 'walk-early' };
      const job = await call('POST', '/api/jobs', { ...body, source: (await onStage('streams of captioned')).source });
      const { page } = await visitPlayer({ hash: body.hash });
      await expect.poll(() => messageOf(page)).toMatch(/^stream-404: .* wait until its job is completed/);
      await until(
        () => call('GET', `/api/jobs/${job.job_id}`),
        ({ status }) => status === 'completed',
        120_000,
      );
      await page.click('#retry');
      await waitForTime(page, 0.3);
    });
  },
);
