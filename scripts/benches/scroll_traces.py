"""Requests as scrolling, changing tabs and a server's users make them, and the best that a cache can make of them.

A trace is the same for the same seed, on any machine.
"""

import collections
import heapq
import random

# `row` and `list` are empty for what is not a list's row; `top` and `bottom` are the rows on screen at the time.
Request = collections.namedtuple("Request", "key bytes row list top bottom")


def scroll(seed, rows=2000, steps=20000, visible=12, icons=40, name="r"):
    """Flings with friction, up and down one list; each row asks for one of a few hot icons, too."""
    chance = random.Random(seed)
    position, speed, on_screen, requests = 0.0, 0.0, set(), []
    for _ in range(steps):
        if abs(speed) < 0.2:
            what = chance.random()
            if what < 0.55:
                speed = chance.expovariate(1 / 6)
            elif what < 0.90:
                speed = -chance.expovariate(1 / 6)
            elif what < 0.93:  # a jump, to the top or to anywhere
                position = 0 if chance.random() < 0.5 else chance.uniform(0, rows - visible)
                speed, on_screen = 0, set()
            else:
                speed = 0
        position = min(max(position + speed, 0), rows - visible)
        speed *= 0.93
        top = int(position)
        bottom = top + visible
        now = set(range(top, bottom + 1))
        for row in sorted(now - on_screen):
            requests.append(Request(f"{name}{row}", 40000, row, name, top, bottom))
            icon = int(min(icons - 1, chance.paretovariate(1.1) - 1))
            requests.append(Request(f"icon{icon}", 4000, "", "", top, bottom))
        on_screen = now
    return requests


def tabs(seed, count=60000):
    """Five lists, one in front at a time, the first far more often."""
    chance = random.Random(seed)
    lists = [scroll(seed + index, rows=400, steps=count // 60, name=f"t{index}.") for index in range(5)]
    reached, requests = [0] * len(lists), []
    while len(requests) < count:
        front = min(len(lists) - 1, int(chance.paretovariate(1.0) - 1))
        for _ in range(chance.randint(20, 200)):
            requests.append(lists[front][reached[front] % len(lists[front])])
            reached[front] += 1
    return requests


def updown(_seed, rows=300, passes=30, visible=12):
    """From the top to the bottom and back, again and again."""
    requests = []
    for index in range(passes):
        for row in range(rows) if index % 2 == 0 else reversed(range(rows)):
            requests.append(Request(f"r{row}", 40000, row, "r", max(0, row - visible), row))
    return requests


def zipf(seed, count=100000, objects=20000, exponent=0.9):
    """A server's traffic: requests that have nothing to do with each other, some objects far more popular."""
    chance = random.Random(seed)
    weights = [1 / rank ** exponent for rank in range(1, objects + 1)]
    sizes = [int(min(200000, max(2000, chance.lognormvariate(10, 0.8)))) for _ in range(objects)]
    chosen = chance.choices(range(objects), weights, k=count)
    return [Request(f"z{index}", sizes[index], "", "", "", "") for index in chosen]


MAKERS = {"scroll": scroll, "tabs": tabs, "updown": updown, "zipf": zipf}


def optimum(keys, capacity):
    """The hits of Belady's cache of so many objects, which evicts what is asked for again last."""
    upcoming, later = [0] * len(keys), {}  # when each request's key is asked for again
    for index in reversed(range(len(keys))):
        upcoming[index] = later.get(keys[index], len(keys))
        later[keys[index]] = index
    cached, queue, hits = {}, [], 0
    for key, when in zip(keys, upcoming):
        if key in cached:
            hits += 1
        else:
            while len(cached) >= capacity:
                last, victim = heapq.heappop(queue)
                if cached.get(victim) == -last:  # else it was asked for since, and is queued again
                    del cached[victim]
        cached[key] = when
        heapq.heappush(queue, (-when, key))
    return hits
