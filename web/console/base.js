import htm from 'htm';
import { h } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

// Elements, and what a view reads. Texts become text nodes, never markup: hashes, keys and messages are of others.

/** @import { Loaded, VNode } from './types.ts' */

/**
 * Elements as they are written in a page. What has no state is a function that gives elements; what has some is a
 * component, made by `h`, so that both are checked by their types.
 *
 * @type {(strings: TemplateStringsArray, ...values: unknown[]) => VNode}
 */
export const html = /** @type {(strings: TemplateStringsArray, ...values: unknown[]) => VNode} */ (htm.bind(h));

/** A signal that aborts when the component is removed. */
export function useStopping() {
  const [stopping] = useState(() => new AbortController());
  useEffect(() => () => stopping.abort(), []);
  return stopping.signal;
}

/**
 * For questions of which only the answer to the last one is to be shown. Each call aborts the signal that the call
 * before returned; the last one aborts when the component is removed.
 *
 * @returns {() => AbortSignal}
 */
export function useLatest() {
  const latest = useRef(new AbortController());
  useEffect(() => () => latest.current.abort(), []);
  return () => {
    latest.current.abort();
    latest.current = new AbortController();
    return latest.current.signal;
  };
}

/**
 * Reads at once, again when an input changes, and every `everyMs` while the page is in view; 0 for never. What was read
 * stays while the server does not answer.
 *
 * @template Data
 * @param {(signal: AbortSignal) => Promise<Data>} read
 * @param {readonly unknown[]} inputs
 * @returns {Loaded<Data>}
 */
export function useLoaded(read, inputs, everyMs = 0) {
  const [state, setState] = useState(
    /** @type {{ data: Data | null, problem: unknown }} */ ({ data: null, problem: null }),
  );
  const latest = useRef({ read, signal: new AbortController().signal, isRead: false });
  latest.current.read = read;
  const reload = useCallback(async () => {
    const { signal } = latest.current;
    try {
      const data = await latest.current.read(signal);
      if (signal.aborted) return;
      latest.current.isRead = true;
      setState((before) => (JSON.stringify(before.data) === JSON.stringify(data) ? before : { data, problem: null }));
    } catch (problem) {
      if (!signal.aborted) setState((before) => (before.data === null ? { data: null, problem } : before));
    }
  }, []);
  useEffect(() => {
    const stopping = new AbortController();
    latest.current.signal = stopping.signal;
    void reload();
    const poll = () => {
      if (!document.hidden && latest.current.isRead) void reload();
    };
    const timer = everyMs === 0 ? undefined : setInterval(poll, everyMs);
    return () => {
      stopping.abort();
      clearInterval(timer);
    };
  }, [...inputs, everyMs]);
  return { ...state, reload };
}
