/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_VIEW_MAP_ORDER_H
#define PANTRACE_VIEW_MAP_ORDER_H

/* sort(): by value where values have an order (see map_view_sort()), by key otherwise. */
enum map_order { ORDER_DEFAULT, ORDER_KEY, ORDER_VALUE };

#endif
