EXPECT TABLE totals (customer, `order`) AS VALUES (1, 2);
